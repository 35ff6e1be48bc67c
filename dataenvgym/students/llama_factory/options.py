"""The options allowed in a LLaMA-Factory training file, and the allowed chat templates.

LLaMA-Factory refuses any other name; a wrong template only after it has loaded the tokenizer. These
are the names of version 0.9.5 with transformers 5.6, the newest that it allows. A training whose
`template` is None uses the tokenizer's own chat template.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from dataenvgym.students.llama_factory.curriculum import Curriculum

_OPTIONS = """
    adapter_folder adapter_name_or_path add_special_tokens add_tokens audio_sampling_rate
    cache_dir crop_to_patches disable_gradient_checkpointing double_quantization
    enable_liger_kernel export_device export_dir export_hub_model_id export_legacy_format
    export_quantization_bit export_quantization_dataset export_quantization_maxlen
    export_quantization_nsamples export_size flash_attn hf_hub_token image_do_pan_and_scan
    image_max_pixels image_min_pixels infer_backend infer_dtype init_special_tokens
    kt_expert_checkpoint_path kt_lora_expert_intermediate_size kt_lora_expert_num
    kt_use_lora_experts kt_weight_path low_cpu_mem_usage mixture_of_depths model_name_or_path
    model_revision moe_aux_loss_coef ms_hub_token new_special_tokens_config offload_folder
    om_hub_token print_param_status quantization_bit quantization_device_map quantization_method
    quantization_type resize_vocab rope_scaling sglang_config sglang_lora_backend sglang_maxlen
    sglang_mem_fraction sglang_tp_size shift_attn split_special_tokens train_from_scratch
    trust_remote_code upcast_layernorm upcast_lmhead_output use_audio_in_video
    use_fast_tokenizer use_kt use_kv_cache use_reentrant_gc use_unsloth use_unsloth_gc
    use_v1_kernels video_fps video_max_pixels video_maxlen video_min_pixels vllm_config
    vllm_enforce_eager vllm_gpu_util vllm_max_lora_rank vllm_maxlen

    buffer_size cutoff_len data_shared_file_system dataset dataset_dir default_system
    enable_thinking eval_dataset eval_num_beams eval_on_each_dataset ignore_pad_token_for_loss
    interleave_probs mask_history max_samples media_dir mix_strategy neat_packing
    overwrite_cache packing preprocessing_batch_size preprocessing_num_workers preserve_thinking
    streaming template tokenized_path tool_format train_on_prompt val_size

    additional_target apollo_layerwise apollo_proj apollo_proj_type apollo_rank apollo_scale
    apollo_scale_front apollo_scale_type apollo_target apollo_update_interval asft_alpha
    badam_mask_mode badam_mode badam_start_block badam_switch_interval badam_switch_mode
    badam_update_ratio badam_verbose compute_accuracy create_new_adapter disable_shuffling
    dpo_label_smoothing eaft_alpha early_stopping_steps finetuning_type freeze_extra_modules
    freeze_language_model freeze_multi_modal_projector freeze_trainable_layers
    freeze_trainable_modules freeze_vision_tower galore_layerwise galore_proj_type galore_rank
    galore_scale galore_target galore_update_interval hyper_parallel_args
    include_effective_tokens_per_second kto_chosen_weight kto_rejected_weight ld_alpha
    lora_alpha lora_dropout lora_rank lora_target loraplus_lr_embedding loraplus_lr_ratio
    module_dropout oft_block_size oft_rank oft_target pissa_convert pissa_init pissa_iter
    plot_loss ppo_buffer_size ppo_epochs ppo_score_norm ppo_target ppo_whiten_rewards
    pref_bco_weight pref_beta pref_ftx pref_loss pure_bf16 ref_model ref_model_adapters
    ref_model_quantization_bit reward_model reward_model_adapters reward_model_quantization_bit
    reward_model_type simpo_gamma stage swanlab_api_key swanlab_lark_secret
    swanlab_lark_webhook_url swanlab_logdir swanlab_mode swanlab_project swanlab_run_name
    swanlab_workspace use_adam_mini use_apollo use_asft_loss use_badam use_dft_loss use_dora
    use_eaft_loss use_galore use_hyper_parallel use_llama_pro use_mca use_muon use_rslora
    use_swanlab

    do_sample length_penalty max_length max_new_tokens num_beams repetition_penalty
    skip_special_tokens temperature top_k top_p

    enable_torch_profiler fp8 fp8_backend fp8_enable_fsdp_float8_all_gather master_addr
    master_port overwrite_output_dir profile_modules profiler_active_steps profiler_output_dir
    profiler_profile_memory profiler_record_shapes profiler_repeat profiler_wait_steps
    profiler_warmup_steps profiler_with_stack ray_init_kwargs ray_num_workers

    accelerator_config adam_beta1 adam_beta2 adam_epsilon auto_find_batch_size
    average_tokens_across_devices batch_eval_metrics bf16 bf16_full_eval data_seed
    dataloader_drop_last dataloader_num_workers dataloader_persistent_workers
    dataloader_pin_memory dataloader_prefetch_factor ddp_backend ddp_broadcast_buffers
    ddp_bucket_cap_mb ddp_find_unused_parameters ddp_static_graph ddp_timeout debug deepspeed
    disable_tqdm do_eval do_predict do_train enable_jit_checkpoint eval_accumulation_steps
    eval_delay eval_do_concat_batches eval_on_start eval_steps eval_strategy
    eval_use_gather_object fp16 fp16_full_eval fsdp fsdp_config full_determinism
    generation_config generation_max_length generation_num_beams gradient_accumulation_steps
    gradient_checkpointing gradient_checkpointing_kwargs greater_is_better hub_always_push
    hub_model_id hub_private_repo hub_revision hub_strategy hub_token ignore_data_skip
    include_for_metrics include_num_input_tokens_seen label_names label_smoothing_factor
    learning_rate length_column_name liger_kernel_config load_best_model_at_end local_rank
    log_level log_level_replica log_on_each_node logging_dir logging_first_step
    logging_nan_inf_filter logging_steps logging_strategy lr_scheduler_kwargs lr_scheduler_type
    max_grad_norm max_steps metric_for_best_model neftune_noise_alpha num_train_epochs optim
    optim_args optim_target_modules output_dir parallelism_config per_device_eval_batch_size
    per_device_train_batch_size predict_with_generate prediction_loss_only project push_to_hub
    remove_unused_columns report_to restore_callback_states_from_checkpoint
    resume_from_checkpoint run_name save_on_each_node save_only_model save_steps save_strategy
    save_total_limit seed skip_memory_metrics sortish_sampler tf32 torch_compile
    torch_compile_backend torch_compile_mode torch_empty_cache_steps trackio_bucket_id
    trackio_space_id trackio_static_space_id train_sampling_strategy use_cache use_cpu
    use_liger_kernel warmup_ratio warmup_steps weight_decay
"""

KNOWN_OPTIONS: frozenset[str] = frozenset(_OPTIONS.split())

_TEMPLATES = """
    aeva alpaca bailing bailing_v2 breeze chatglm3 chatml chatml_de cohere cpm4 dbrx deepseek
    deepseek3 deepseekcoder deepseekr1 default dots_ocr empty ernie ernie_nothink ernie_vl exaone
    falcon falcon_h1 fewshot gemma gemma2 gemma3 gemma3n gemma4 gemma4n glm4 glm4_5v glm4_7
    glm4_moe glm4v glm_ocr glmz1 gpt_oss granite3 granite3_vision granite4 hunyuan hunyuan_small
    hy3 index intern2 intern_s1 intern_vl keye_vl kimi_vl lfm2 lfm2_vl llama2 llama2_zh llama3
    llama4 llava llava_next llava_next_llama3 llava_next_mistral llava_next_qwen llava_next_video
    llava_next_video_mistral llava_next_video_yi llava_next_yi mimo mimo_v2 mimo_vl minicpm_o
    minicpm_v minicpm_v_4_6 minimax1 minimax2 ministral ministral3 mistral mistral_small mllama
    moonlight olmo openchat openchat-3.6 opencoder paligemma paligemma_chat phi phi4 phi4_mini
    phi_small pixtral qwen qwen2_audio qwen2_omni qwen2_vl qwen3 qwen3_5 qwen3_5_nothink qwen3_6
    qwen3_nothink qwen3_omni qwen3_omni_nothink qwen3_vl qwen3_vl_nothink sailor seed_coder
    seed_oss smollm smollm2 solar starchat telechat2 vicuna video_llava xuanyuan yi yi_vl youtu
    youtu_vl yuan zephyr
"""

TEMPLATES: frozenset[str] = frozenset(_TEMPLATES.split())


Schedule = Literal[
    "linear",
    "cosine",
    "cosine_with_restarts",
    "polynomial",
    "constant",
    "constant_with_warmup",
    "inverse_sqrt",
]
_Names = str | Sequence[str]
_Path = str | os.PathLike[str]


class TrainingOptions(TypedDict, total=False):
    """The options that a trainer has for all its trainings."""

    do_train: bool
    finetuning_type: Literal["lora", "freeze", "full"]
    lora_rank: int
    lora_alpha: int
    lora_dropout: float
    lora_target: _Names
    use_rslora: bool
    use_dora: bool
    quantization_bit: Literal[2, 3, 4, 5, 6, 8] | None
    deepspeed: _Path | Mapping[str, Any] | None
    pref_beta: float
    pref_ftx: float
    pref_discount: float | None
    pref_loss: Literal["sigmoid", "hinge", "ipo", "kto_pair", "orpo", "simpo"]
    kto_chosen_weight: float
    kto_rejected_weight: float
    scored_reduction: Literal["mean", "sum", "token_mean"]
    scored_clip: float | None
    scored_clip_high: float | None
    scored_clip_dual: float | None
    scored_kl: float | None
    scored_as: Literal["sft", "kto", "dpo"] | None
    scored_threshold: float
    scored_segment: int | Literal["tail"] | None

    template: str | None
    cutoff_len: int
    packing: bool
    overwrite_cache: bool
    preprocessing_num_workers: int | None

    overwrite_output_dir: bool
    logging_steps: int
    save_strategy: Literal["no", "steps", "epoch", "best"]
    report_to: _Names

    per_device_train_batch_size: int
    gradient_accumulation_steps: int
    effective_batch_size: int | None
    curriculum: Curriculum | Mapping[str, Any] | None
    learning_rate: float
    num_train_epochs: float
    max_steps: int
    lr_scheduler_type: Schedule
    warmup_steps: float
    weight_decay: float
    max_grad_norm: float
    bf16: bool
    fp16: bool
    pure_bf16: bool

    extra: Mapping[str, Any]


class OneTraining(TrainingOptions, total=False):
    """All options, with those that belong to one training."""

    model_name_or_path: _Path | None
    adapter_name_or_path: _Path | None
    stage: Literal["pt", "sft", "rm", "ppo", "dpo", "kto", "scored"]
    dataset: _Names | None
    dataset_dir: _Path | None
    output_dir: _Path | None
    chat_template_kwargs: Mapping[str, Any]
    seed: int
