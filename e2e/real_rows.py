"""Launchers of real projects and the arguments they are called with: data of real.py.

A row is (module:callable, arguments). Arguments are one Python expression list over the builders below; tensors made by
`x` and `n` take the layout that is being tried, those made by `X` and `N` are always packed (kernels that take that for granted).
"""

# Compared with grad enabled, but no input requires grad: fixes there are safe because the project is declared so.
INFERENCE_ONLY = {"vllm", "sglang"}
LAYOUTS = ["packed", "sliced", "transposed"]


def builders(layout):
    import torch

    def laid_out(tensor, layout=layout):
        """The same values, with gaps between the rows or with the last two dimensions swapped in memory."""
        if layout == "packed" or tensor.dim() < 1 or tensor.numel() == 0:
            return tensor
        if layout == "sliced":
            wide = torch.zeros(*tensor.shape[:-1], tensor.shape[-1] + 5, dtype=tensor.dtype)
            wide[..., 2 : tensor.shape[-1] + 2] = tensor
            return wide[..., 2 : tensor.shape[-1] + 2]
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2) if tensor.dim() > 1 else tensor

    def X(*shape, dtype=torch.float32):
        """Normal random numbers, packed."""
        return torch.randn(shape).to(dtype)

    def N(*shape, low=0, high=10, dtype=torch.int64):
        """Random integers in [low, high), packed."""
        return torch.randint(low, high, shape).to(dtype)

    def full(value, *shape, dtype=torch.float32):
        return torch.full(shape, value, dtype=dtype)

    def ints(*values, dtype=torch.int32):
        return torch.tensor(values, dtype=dtype)

    def positive(*shape, dtype=torch.float32):
        return (torch.rand(*shape) + 0.1).to(dtype)

    def bools(*shape):
        return torch.rand(*shape) > 0.5

    return {
        "X": X,
        "N": N,
        "x": lambda *shape, **kind: laid_out(X(*shape, **kind)),
        "n": lambda *shape, **kind: laid_out(N(*shape, **kind)),
        "pos": lambda *shape, **kind: laid_out(positive(*shape, **kind)),
        "full": full,
        "ints": ints,
        "bools": bools,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "f32": torch.float32,
        "f64": torch.float64,
        "i32": torch.int32,
        "i64": torch.int64,
        "u8": torch.uint8,
        "fp8": torch.float8_e4m3fn,
    }


ROWS = {
    "liger-kernel": [
        ("liger_kernel.ops.attn_res:attn_res_forward", "x(3, 2, 4, 16), x(16), x(16)"),
        ("liger_kernel.ops.cross_entropy:cross_entropy_backward", "x(6, 30), X()"),
        ("liger_kernel.ops.cross_entropy:LigerCrossEntropyFunction.apply", "x(6, 30), N(6, high=30), None, -100, 0.0, 0.1, 'mean', None, False"),
        ("liger_kernel.ops.dyt:liger_dyt_fwd", "x(5, 32), X(1), x(32), x(32)"),
        ("liger_kernel.ops.experimental.embedding:LigerEmbeddingFunction.apply", "x(11, 24), N(3, 4, high=11)"),
        ("liger_kernel.ops.fused_add_rms_norm:fused_add_rms_norm_forward", "x(4, 33), x(4, 33), x(33), 1e-5, 0.0, 'llama'"),
        ("liger_kernel.ops.fused_add_rms_norm:LigerFusedAddRMSNormFunction.apply", "x(4, 33), x(4, 33), x(33), 1e-5, 0.0, 'gemma', False"),
        ("liger_kernel.ops.geglu:geglu_forward", "x(4, 40), x(4, 40)"),
        ("liger_kernel.ops.geglu:geglu_backward", "x(4, 40), x(4, 40), x(4, 40)"),
        ("liger_kernel.ops.geglu:LigerGELUMulFunction.apply", "x(4, 40), x(4, 40)"),
        ("liger_kernel.ops.group_norm:group_norm_forward", "x(2, 6, 10), 6, 3, X(6), X(6), 1e-5"),
        ("liger_kernel.ops.group_norm:LigerGroupNormFunction.apply", "x(2, 6, 10), X(6), X(6), 6, 3, 1e-5"),
        ("liger_kernel.ops.grpo_loss:fused_selective_log_softmax", "x(2, 5, 30), N(2, 4, high=30), 0.7"),
        ("liger_kernel.ops.layer_norm:layer_norm_forward", "x(4, 33), x(33), x(33), 1e-5"),
        ("liger_kernel.ops.layer_norm:LigerLayerNormFunction.apply", "x(4, 33), x(33), x(33), 1e-5"),
        ("liger_kernel.ops.mhc:mhc_pre_fwd", "x(5, 4, 32), x(5, 4)"),
        ("liger_kernel.ops.mhc:mhc_pre_bwd", "x(5, 4, 32), x(5, 4), x(5, 32)"),
        ("liger_kernel.ops.mhc:mhc_post_res_fwd", "x(5, 4, 32), x(5, 32), x(5, 4), x(5, 4, 4)"),
        ("liger_kernel.ops.modulated_rms_norm:modulated_rms_norm_forward", "x(2, 5, 33), x(33), x(2, 33), x(2, 33), 1e-5, 0.0, 'llama'"),
        ("liger_kernel.ops.multi_token_attention:_mask_inf_forward", "X(2, 3, 8, 8)"),
        ("liger_kernel.ops.multi_token_attention:_mask_inf_backward", "X(2, 3, 8, 8)"),
        ("liger_kernel.ops.multi_token_attention:_mask_zero_forward", "X(2, 3, 8, 8)"),
        ("liger_kernel.ops.multi_token_attention:_mask_zero_backward", "X(2, 3, 8, 8)"),
        ("liger_kernel.ops.poly_norm:poly_norm_forward", "x(4, 33), x(3), x(1)"),
        ("liger_kernel.ops.relu_squared:relu_squared_forward", "x(4, 33)"),
        ("liger_kernel.ops.relu_squared:relu_squared_backward", "x(4, 33), x(4, 33)"),
        ("liger_kernel.ops.relu_squared:LigerReLUSquaredFunction.apply", "x(4, 33)"),
        ("liger_kernel.ops.rope:rope_forward", "x(2, 4, 5, 16), x(2, 2, 5, 16), x(1, 5, 16), x(1, 5, 16)"),
        ("liger_kernel.ops.rope:rope_backward", "x(2, 4, 5, 16), x(2, 2, 5, 16), x(1, 5, 16), x(1, 5, 16)"),
        ("liger_kernel.ops.rope:LigerRopeFunction.apply", "x(2, 4, 5, 16), x(2, 2, 5, 16), x(1, 5, 16), x(1, 5, 16)"),
        ("liger_kernel.ops.softmax:_softmax_forward", "x(4, 33)"),
        ("liger_kernel.ops.softmax:LigerSoftmaxFunction.apply", "x(4, 33)"),
        ("liger_kernel.ops.sparsemax:_sparsemax_forward", "x(4, 33), -1"),
        ("liger_kernel.ops.sparsemax:LigerSparsemaxFunction.apply", "x(4, 33), -1"),
        ("liger_kernel.ops.swiglu:swiglu_forward", "x(4, 40), x(4, 40), 0.5"),
        ("liger_kernel.ops.swiglu:swiglu_backward", "x(4, 40), x(4, 40), x(4, 40)"),
        ("liger_kernel.ops.swiglu:swiglu_fused_gate_up_forward", "x(4, 40)"),
        ("liger_kernel.ops.swiglu:swiglu_fused_gate_up_backward", "x(4, 40), x(4, 20), True"),
        ("liger_kernel.ops.swiglu:LigerSiLUMulFunction.apply", "x(4, 40), x(4, 40)"),
        ("liger_kernel.ops.fused_linear_jsd:fused_linear_jsd_backward", "X(1), x(4, 20), x(6, 20)"),
        ("liger_kernel.ops.fused_linear_cross_entropy:fused_linear_cross_entropy_backward", "X(1), x(4, 20), x(6, 20), x(6)"),
        ("liger_kernel.ops.fused_moe:compute_routing_metadata", "N(6, 2, high=4, dtype=i32), 4"),
    ],
    "fla-core": [
        ("fla.modules.activations.ops:sigmoid_fwd", "x(4, 33)"),
        ("fla.modules.activations.ops:sigmoid_bwd", "x(4, 33), x(4, 33), True"),
        ("fla.modules.activations.ops:elu_p1_fwd", "x(4, 33)"),
        ("fla.modules.activations.ops:logsigmoid_fwd", "x(4, 33), 2.0"),
        ("fla.modules.activations.ops:logsigmoid_bwd", "x(4, 33), x(4, 33), 2.0"),
        ("fla.modules.activations.ops:swish_fwd", "x(4, 33)"),
        ("fla.modules.activations.ops:swiglu_fwd", "x(4, 33), x(4, 33)"),
        ("fla.modules.activations.ops:swiglu_fwdbwd", "x(4, 33), x(4, 33), x(4, 33), True"),
        ("fla.modules.activations.ops:powglu_fwdbwd", "x(4, 33), x(4, 33), x(4, 33), 2.0"),
        ("fla.modules.activations:swish", "x(4, 33)"),
        ("fla.modules.fused_cross_entropy.ops:cross_entropy_fwd", "x(6, 30), N(6, high=30), 0.1"),
        ("fla.modules.layernorm:layer_norm", "x(4, 33), x(33), x(33)"),
        ("fla.modules.layernorm:rms_norm", "x(4, 33), x(33), None"),
        ("fla.modules.l2norm:l2norm_fwd", "x(2, 4, 33)"),
        ("fla.modules.l2norm:l2norm", "x(2, 4, 33)"),
        ("fla.modules.rotary:rotary_embedding", "x(2, 8, 2, 16), X(8, 8), X(8, 8)"),
        ("fla.ops.rwkv7.channel_mixing:rwkv_mix_fwd", "x(2, 6, 16), x(2, 16), x(16)"),
        ("fla.ops.rwkv7.channel_mixing:rwkv_relu_and_square_fwd", "x(4, 33), True"),
        ("fla.ops.rwkv7.channel_mixing:rwkv_relu_and_square_fwd", "x(4, 33), False"),
        ("fla.ops.rwkv7.fused_k_update:k_update_fwd", "x(2, 6, 16), x(2, 6, 16), X(16)"),
        ("fla.ops.rwkv7.fused_addcmul:fused_addcmul_rwkv7", "x(2, 6, 16), x(2, 6, 16), X(16), X(16), X(16), X(16), X(16), X(16)"),
        ("fla.ops.utils.cumsum:chunk_local_cumsum_scalar", "x(2, 32, 4), 16"),
        ("fla.ops.utils.cumsum:chunk_local_cumsum_vector", "x(2, 32, 4, 16), 16"),
        ("fla.ops.utils.cumsum:chunk_global_cumsum_scalar", "x(2, 32, 4)"),
        ("fla.ops.utils.cumsum:chunk_global_cumsum_vector", "x(2, 32, 4, 16)"),
        ("fla.ops.utils.logsumexp:logsumexp_fwd", "x(4, 33)"),
        ("fla.ops.utils.matmul:matmul", "x(16, 32), x(32, 16)"),
        ("fla.ops.utils.matmul:addmm", "x(16, 16), x(16, 32), x(32, 16), 0.5, 2.0"),
        ("fla.ops.utils.pack:pack_sequence", "x(2, 5, 8), ints(0, 3, 7)"),
        ("fla.ops.utils.pooling:mean_pooling_fwd", "x(2, 32, 2, 16), 16"),
        ("fla.ops.utils.pooling:mean_pooling", "x(2, 32, 2, 16), 16"),
        ("fla.ops.utils.softmax:softmax_fwd", "x(4, 33)"),
        ("fla.ops.utils.softmax:softmax_bwd", "x(4, 33), x(4, 33)"),
        ("fla.ops.utils.solve_tril:solve_tril", "X(1, 32, 2, 16)"),
        ("fla.ops.utils.sinkhorn.ops:sinkhorn_fwd", "x(4, 4, 4), 3"),
        ("fla.ops.utils.sinkhorn.ops:sinkhorn_bwd", "x(4, 4, 4), x(4, 4, 4), 3"),
        ("fla.ops.rwkv4.fused_recurrent:fused_recurrent_rwkv4_forward", "x(8), x(8), x(2, 5, 8), x(2, 5, 8), x(2, 3, 1, 8)"),
        ("fla.ops.simple_gla.parallel:parallel_simple_gla_fwd", "X(1, 32, 2, 16), X(1, 32, 2, 16), X(1, 32, 2, 16), X(1, 32, 2), 0.25, False, 32"),
        ("fla.ops.common.fused_recurrent:fused_recurrent_fwd", "x(1, 8, 2, 16), x(1, 8, 2, 16), x(1, 8, 2, 16), scale=0.25"),
        ("fla.ops.common.chunk_h:chunk_fwd_h", "x(1, 32, 2, 16), x(1, 32, 2, 16), None, None, None, None, None, True, chunk_size=16"),
        ("fla.ops.hgrn.fused_recurrent:fused_recurrent_hgrn", "x(2, 6, 16), x(2, 6, 16), None, True"),
        ("fla.ops.gated_delta_rule.fused_recurrent:fused_recurrent_gated_delta_rule_fwd", "x(1, 6, 2, 16), x(1, 6, 2, 16), x(1, 6, 2, 16), x(1, 6, 2), None, None, x(1, 6, 2), 0.25, None, True"),
    ],
    "vllm": [
        ("vllm.model_executor.determinism.batch_invariant:rms_norm_batch_invariant", "x(4, 33), x(33), 1e-5"),
        ("vllm.model_executor.layers.activation:swiglustep_and_mul_triton", "X(4, 20), X(4, 40), 5.0"),
        ("vllm.model_executor.layers.fused_embed_norm:fused_embed_norm", "N(5, high=11), x(11, 32), x(32), 1e-5"),
        ("vllm.model_executor.layers.fused_embed_norm:fused_embed_norm", "N(5, high=11), x(11, 32)"),
        ("vllm.model_executor.layers.fused_moe.experts.gpt_oss_triton_kernels_moe:masked_moe_sum", "x(4, 2, 32), N(4, 2, low=-1, high=4), x(4, 32)"),
        ("vllm.model_executor.layers.fused_moe.fused_moe:zero_experts_compute_triton", "n(4, 3, high=8), x(4, 3), 4, 'identity', x(4, 32)"),
        ("vllm.model_executor.layers.fused_moe.moe_fused_mul_sum:moe_fused_mul_sum", "x(4, 2, 32), x(4, 2)"),
        ("vllm.model_executor.layers.fused_moe.moe_fused_mul_sum:moe_fused_mul_sum", "x(4, 2, 32), x(4, 2), X(4, 32)"),
        ("vllm.model_executor.layers.fused_moe.utils:count_expert_num_tokens", "N(6, 2, high=4), 4, None"),
        ("vllm.model_executor.layers.fused_moe.utils:count_expert_num_tokens", "N(6, 2, high=4), 4, N(4, high=4, dtype=i32)"),
        ("vllm.model_executor.layers.fused_moe.utils:remap_topk_to_local", "n(6, 2, high=4), N(4, high=4, dtype=i32)"),
        ("vllm.model_executor.layers.fusion.mm_input_norm:fused_mm_input_norm_triton", "x(2, 8, 32), x(2, 8, 32), X(32), X(32)"),
        ("vllm.model_executor.layers.mamba.gdn.olmo_gdn_linear_attn:fused_olmo_hybrid_gdn_gating", "x(8), x(5, 8), x(5, 8), x(8), True"),
        ("vllm.model_executor.layers.mamba.ops.gather_initial_states:gather_initial_states", "X(6, 4, 8, 8), N(3, high=6, dtype=i32), bools(3)"),
        ("vllm.model_executor.layers.mamba.ops.layernorm_gated:_layer_norm_fwd", "x(4, 32), X(32), X(32), 1e-5, x(4, 32)"),
        ("vllm.model_executor.layers.mamba.ops.layernorm_gated:_layer_norm_fwd", "x(4, 32), X(32), None, 1e-5, out=X(4, 32), is_rms_norm=True"),
        ("vllm.model_executor.layers.mamba.ops.layernorm_gated:rms_norm_gated", "x(4, 32), X(32), None, z=x(4, 32)"),
        ("vllm.model_executor.layers.mamba.ops.ssd_bmm:_bmm_chunk_fwd", "x(32, 2, 16), x(32, 2, 16), 16, ints(0, 16, 32)"),
        ("vllm.model_executor.layers.mamba.ops.ssd_chunk_state:_chunk_cumsum_fwd", "x(32, 4), x(4), 16, ints(0, 16, 32), x(4), True"),
        ("vllm.model_executor.layers.mamba.ops.ssd_chunk_state:_chunk_state_fwd", "x(32, 2, 16), x(32, 4, 16), x(4, 2, 16), x(4, 2, 16), ints(0, 16, 32)"),
        ("vllm.model_executor.layers.mamba.ops.ssd_state_passing:_state_passing_fwd", "x(2, 4, 64), x(4, 2, 16), ints(0, 1)"),
        ("vllm.model_executor.layers.mamba.ops.ssu_dispatch:update_replayssm_ring_trackers", "N(6, dtype=i32, high=3), N(6, dtype=i32, high=2), N(6, dtype=i32, high=2), ints(1, 2, 3), 4, 8"),
        ("vllm.model_executor.layers.quantization.awq_triton:awq_dequantize_triton", "N(32, 4, high=99999, dtype=i32), x(2, 32), N(2, 4, high=99999, dtype=i32)"),
        ("vllm.v1.worker.gpu.sample.gumbel:apply_temperature", "x(4, 30), ints(0, 1, 1, 2), X(3)"),
        ("vllm.v1.worker.gpu.sample.gumbel:gumbel_sample", "x(4, 30), ints(0, 1, 1, 2), X(3), N(3), N(4), True, False"),
        ("vllm.v1.worker.gpu.sample.logprob:compute_token_logprobs", "x(4, 30), N(4, 2, high=30)"),
        ("vllm.v1.worker.gpu.sample.min_p:apply_min_p", "x(4, 30), ints(0, 1, 1, 2), pos(3)"),
        ("vllm.v1.worker.gpu.sample.prompt_logprob:get_prompt_logprobs_token_ids", "7, ints(0, 3, 7), ints(1, 0), ints(2, 1), N(2, 16, high=99, dtype=i32)"),
        ("vllm.v1.worker.gpu.spec_decode.multi_module_mtp.speculator:pad_trailing_draft_slots", "N(2, 16), ints(0, 4, 9), N(2, high=3), 2"),
        ("vllm.vllm_flash_attn.ops.triton.rotary:apply_rotary", "x(2, 8, 2, 16), X(8, 8), X(8, 8)"),
        ("vllm.vllm_flash_attn.ops.triton.rotary:apply_rotary", "x(2, 8, 2, 16), X(8, 8), X(8, 8), inplace=True"),
        ("vllm.v1.attention.ops.triton_merge_attn_states:merge_attn_states", "X(5, 2, 16), X(5, 2, 16), X(2, 5), X(5, 2, 16), X(2, 5)"),
    ],
    "sglang": [
        ("sglang.kernels.ops.activation.minimax_m3_swiglu:swiglu_oai_split", "x(4, 40), 1.7, 1.0, 7.0"),
        ("sglang.kernels.ops.activation.softcap:_softcap_logits", "x(4, 30), 20.0"),
        ("sglang.kernels.ops.activation.softcap:_softcap_logits", "x(4, 30), 20.0, X(4, 30)"),
        ("sglang.kernels.ops.attention.dsa.cp_split:dsa_cp_interleave_q_seqs", "N(4, low=1, high=9, dtype=i32), 4, 2, 1"),
        ("sglang.kernels.ops.attention.dsv4.attn_glue_hip:mask_indices_by_length", "n(4, 8, dtype=i32), N(4, high=8, dtype=i32)"),
        ("sglang.kernels.ops.attention.dsv4.attn_glue_hip:expand_index_page_table", "n(4, 8, dtype=i32), 2"),
        ("sglang.kernels.ops.attention.dsv4.attn_glue_hip:widen_pair_i64", "N(4, dtype=i32), N(4, dtype=i32)"),
        ("sglang.kernels.ops.attention.dsv4.candidate_blocks:candidate_row_lens", "N(4, low=1, high=99, dtype=i32), 4"),
        ("sglang.kernels.ops.attention.fla.cumsum:chunk_local_cumsum_scalar", "x(1, 32, 4), 16"),
        ("sglang.kernels.ops.attention.linear.fused_gdn_gating:fused_gdn_gating", "x(8), x(5, 8), x(5, 8), x(8)"),
        ("sglang.kernels.ops.attention.merge_state:merge_state_triton", "x(5, 2, 16), x(5, 2), x(5, 2, 16), x(5, 2)"),
        ("sglang.kernels.ops.attention.merge_state:merge_state_triton", "x(5, 2, 16), x(5, 2), x(5, 2, 16), x(5, 2), X(5, 2, 16), X(5, 2)"),
        ("sglang.kernels.ops.attention.metadata:q8kv8_topk_length_from_indices", "n(4, 8, low=-1, high=5, dtype=i32)"),
        ("sglang.kernels.ops.attention.pad:seqlens_expand_triton", "ints(2, 3), ints(5, 7), 5, 4"),
        ("sglang.kernels.ops.attention.pad:pad_sequence_with_mask", "x(7, 8), ints(0, 3), ints(3, 4), 5"),
        ("sglang.kernels.ops.attention.position:compute_position_triton", "ints(2, 3), ints(4, 5), 9"),
        ("sglang.kernels.ops.attention.triton_gdn_fused_proj:fused_qkvzba_split_reshape_cat", "X(3, 2 * (16 + 16 + 32 + 32)), X(3, 2 * 4), 2, 4, 16, 16"),
        ("sglang.kernels.ops.diffusion.activation.sana_conv_post_triton:fused_bias_silu", "x(2, 4, 6, 6), X(4)"),
        ("sglang.kernels.ops.diffusion.activation.sana_conv_post_triton:fused_bias_glu", "x(2, 4, 6, 6), X(4)"),
        ("sglang.kernels.ops.diffusion.activation.silu_mul_bitexact:fused_packed_silu_mul_bitexact", "x(4, 40)"),
        ("sglang.kernels.ops.diffusion.attention.sana_wm_gdn_triton:fused_qk_inv_rms", "X(2, 6, 3, 2, 16)"),
        ("sglang.kernels.ops.diffusion.attention.sparse_linear_attn_triton:mean_pool", "X(1, 2, 32, 16), 16"),
        ("sglang.kernels.ops.diffusion.layout.head_group_copy_triton:copy_head_groups", "x(2, 3, 4, 16), X(2, 3, 4, 16)"),
        ("sglang.kernels.ops.speculative.dspark.dspark_verify_window:build_out_tokens_triton", "draft_tokens=N(3, 4), correct_len=N(3, high=4), bonus=N(3), verify_num_draft_tokens=5, gamma=4"),
        ("sglang.kernels.ops.speculative.eagle:prepare_draft_extend_inputs", "N(3, low=1, high=4, dtype=i32), N(12), 4"),
        ("sglang.kernels.ops.speculative.eagle:prepare_draft_extend_lengths", "N(3, low=5, high=9), 4, 1"),
        ("sglang.kernels.ops.speculative.row_argmax:row_argmax", "x(4, 30)"),
        ("sglang.multimodal_gen.runtime.layers.attention.backends.subblock_sparse.kernels:fused_pool", "X(1, 32, 2, 16), 4, 8, X(2, 4, 16)"),
        ("sglang.srt.batch_invariant_ops.batch_invariant_ops:log_softmax", "x(4, 33)"),
        ("sglang.srt.batch_invariant_ops.batch_invariant_ops:rms_norm", "x(4, 33), x(33), 1e-5"),
        ("sglang.srt.layers.logsumexp:row_logsumexp", "x(4, 33)"),
        ("sglang.srt.layers.attention.swa_mla_fallback.ops:apply_swa_score_mask", "X(2, 4, 1, 8), ints(3, 8), bools(2, 8), 4, 3, 1"),
        ("sglang.srt.models.minimax_m2:rms_sumsq_serial", "x(4, 32, dtype=bf16), x(4, 16, dtype=bf16)"),
        ("sglang.srt.models.minimax_m2:rms_apply_serial", "x(4, 32), x(4, 16), X(32), X(16), X(4, 2)"),
        ("sglang.srt.models.deepseek_common.attention_forward_methods.triton_qk_rmsnorm:_rmsnorm", "x(4, 33), X(33), 1e-5"),
        ("sglang.srt.lora.marlin_lora_temp.activation:silu_and_mul_add_delta", "X(4, 40), X(4, 40), X(4, 20)"),
        ("sglang.test.kernels.triton_sum:triton_sum", "x(4, 33), -1, True"),
        ("sglang.srt.layers.quantization.nvfp4_kv_cache:move_nvfp4_native_scales", "N(2, 3, 4, 16, dtype=u8), N(2, 3, 4, 16, dtype=u8), ints(1, 2, dtype=i64), ints(3, 4, dtype=i64)"),
        ("sglang.kernels.ops.diffusion.norm.norm_triton:rms_norm_fn", "x(4, 33), X(33), None"),
    ],
}
