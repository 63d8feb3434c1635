/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The base of all headers in this directory. They are plain C, compiled by clang for BPF and by the
 * host's compiler for userspace: no map, no helper, no libc, no clock.
 */
#ifndef ROCE_TYPES_H
#define ROCE_TYPES_H

#include <linux/types.h>

#ifdef __cplusplus
#define ROCE_NULL nullptr
#define ROCE_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define ROCE_NULL ((void *)0)
#define ROCE_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

/*
 * Most functions are inlined, on purpose: no function may be called while a spin lock is held. An
 * outlined function is global in BPF, so that the verifier checks it once, not once for each path
 * of its callers; its pointers may be NULL there. It is weak, because clang would otherwise remove
 * arguments that it sees are unused.
 */
#define ROCE_INLINE inline __attribute__((always_inline, unused))
#ifdef __bpf__
#define ROCE_OUTLINE __attribute__((noinline, weak))
#else
#define ROCE_OUTLINE static inline __attribute__((noinline, unused))
#endif

/*
 * After `static`: not inlined in BPF; keeps its stack frame out of its caller's 512 bytes. Unlike
 * an outlined function, it is verified with the values that are known to its caller.
 */
#ifdef __bpf__
#define ROCE_SEPARATE __attribute__((noinline, unused))
#else
#define ROCE_SEPARATE inline __attribute__((unused))
#endif

/* In BPF, where `env` is nothing: a function that calls others need not keep it on its stack. */
#ifdef __bpf__
#define ROCE_FORGET(env) ((env) = 0)
#else
#define ROCE_FORGET(env) ((void)(env))
#endif

/*
 * Separates two stages of a long computation: values pass through memory only. The BPF verifier
 * follows every combination of values in registers; after this point it knows none of them, so the
 * numbers of paths through the stages add up instead of multiplying.
 */
#ifdef __bpf__
#define ROCE_STAGE() asm volatile("" ::: "memory")
#else
#define ROCE_STAGE() ((void)0)
#endif

/*
 * `v &= mask` for the verifier: before `v`, a variable, is used as an index or offset. The mask is
 * a constant, 2^n - 1. The verifier accepts such an access only if it sees the bound on the
 * register that is added to the pointer. The optimiser can remove a mask that is written in C, if
 * it can prove the bound (clang 19 knows the largest entry of a constant table, where the verifier
 * sees a byte), or mask a copy in another register. It keeps this instruction, and the code after
 * it uses the result.
 */
#ifdef __bpf__
#define ROCE_BOUND(v, mask) asm volatile("%0 &= %1" : "+r"(v) : "i"(mask))
#else
#define ROCE_BOUND(v, mask) ((void)((v) &= (mask)))
#endif

/* Hides the variable's value from the optimiser; emits no instruction. */
#define ROCE_OPAQUE(v) asm volatile("" : "+r"(v))

/*
 * Where paths meet that have added different offsets to a pointer: gives the verifier one pointer
 * for all of them, so that it goes through what follows once. Not for the hot path: three
 * instructions. `p` is at most `mask` bytes, 2^n - 1, after `data`; what was checked of it is lost.
 */
#ifdef __bpf__
#define ROCE_MEET(p, data, mask)                                                                   \
  do {                                                                                             \
    __u64 at_;                                                                                     \
    ROCE_OPAQUE(p);                                                                                \
    at_ = (__u64)((p) - (data));                                                                   \
    ROCE_BOUND(at_, mask);                                                                         \
    (p) = (data) + at_;                                                                            \
  } while (0)
#else
#define ROCE_MEET(p, data, mask) ((void)(p))
#endif

/* Unrolling does not help a loop that usually exits early, and costs registers and stack. */
#ifdef __clang__
#define ROCE_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROCE_ROLLED
#endif

#define ROCE_LIKELY(x) __builtin_expect(!!(x), 1)
#define ROCE_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * Loads from a packet and a store to it, in network order (no byte swap). BPF allows unaligned
 * access, and clang would split a packed access into bytes. On the host, memcpy compiles to one
 * load.
 */
#ifdef __bpf__
static ROCE_INLINE __u16 roce_load16(const __u8 *p) { return *(const __u16 *)p; }
static ROCE_INLINE void roce_put16(__u8 *p, __u16 v) { *(__u16 *)p = v; }
static ROCE_INLINE __u32 roce_load32(const __u8 *p) { return *(const __u32 *)p; }
#else
static ROCE_INLINE __u16 roce_load16(const __u8 *p) {
  __u16 v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
static ROCE_INLINE void roce_put16(__u8 *p, __u16 v) { __builtin_memcpy(p, &v, sizeof(v)); }
static ROCE_INLINE __u32 roce_load32(const __u8 *p) {
  __u32 v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
#endif

/* Conversion between network order and host order. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define roce_swap16(v) __builtin_bswap16(v)
#define roce_swap32(v) __builtin_bswap32(v)
#else
#define roce_swap16(v) (v)
#define roce_swap32(v) (v)
#endif

static ROCE_INLINE __u16 roce_be16(const __u8 *p) { return roce_swap16(roce_load16(p)); }
static ROCE_INLINE __u32 roce_be32(const __u8 *p) { return roce_swap32(roce_load32(p)); }

static ROCE_INLINE __u64 roce_be64(const __u8 *p) {
  return (__u64)roce_be32(p) << 32 | roce_be32(p + 4);
}

/* The low three bytes of a big-endian word: QPN, PSN and MSN follow a byte of flags. */
static ROCE_INLINE __u32 roce_be24(const __u8 *word) { return roce_be32(word) & 0xffffff; }

/*
 * Atomics: the same builtins on both sides (BPF: cpu v3, kernel 5.12). ROCE_LOAD/ROCE_STORE are a
 * single access that the compiler may not repeat or split.
 */
#ifdef __bpf__
#define ROCE_LOAD(p) (*(const volatile __typeof__(*(p)) *)(p))
#define ROCE_STORE(p, v) (*(volatile __typeof__(*(p)) *)(p) = (v))
#else
#define ROCE_LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define ROCE_STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#endif
#define ROCE_ADD(p, v) ((void)__sync_fetch_and_add(p, v))
#define ROCE_CAS(p, old, new) (__sync_val_compare_and_swap(p, old, new) == (old))

#endif
