#!/bin/bash
# The job of scenarios/gpt3_175b_64xa100.textproto as a launch script of Megatron-LM.
# Source: Korthikanti et al., 2022, tables 3 and 5.
export CUDA_DEVICE_MAX_CONNECTIONS=1

GPUS_PER_NODE=8
NUM_NODES=${NUM_NODES:-8}
WORLD_SIZE=$(($GPUS_PER_NODE * $NUM_NODES))
SAVED=$1   # a folder

LAUNCHER=(--nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES --master_addr localhost)

MODEL="--num-layers 96 --hidden-size 12288 --num-attention-heads 96 \
       --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50257"

LAYOUT=(
    --tensor-model-parallel-size 8   # a node
    --pipeline-model-parallel-size 8
    --num-layers-per-virtual-pipeline-stage 4
    --sequence-parallel
)

TRAINING=(
    --micro-batch-size 1
    --global-batch-size 64
    --fp16 --accumulate-allreduce-grads-in-fp32 --overlap-grad-reduce
    --recompute-activations
    --attention-backend unfused
    --clip-grad 1.0 --lr 6.0e-5 --train-iters 100
)

if [ -n "$WANDB" ]; then
    EXTRA+=(--wandb-project "$WANDB")
fi

torchrun ${LAUNCHER[@]} pretrain_gpt.py $MODEL "${LAYOUT[@]}" ${TRAINING[@]} "${EXTRA[@]}" \
    --save $SAVED --load $SAVED 2>&1 | tee log.txt
