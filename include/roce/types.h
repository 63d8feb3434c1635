/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What every header of this folder stands on. They are plain C that clang compiles for BPF and the
 * host's compiler for everything in userspace: no map, no helper, no libc, no clock.
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
 * Most is inlined, on purpose: no function may be called while a spin lock is held. What is
 * outlined is a global function for BPF, so that the verifier looks at it once and not once a
 * caller's path; its pointers may be NULL there. Weak, or clang would leave out arguments that it
 * sees unused.
 */
#define ROCE_INLINE inline __attribute__((always_inline, unused))
#ifdef __bpf__
#define ROCE_OUTLINE __attribute__((noinline, weak))
#else
#define ROCE_OUTLINE static inline __attribute__((noinline, unused))
#endif

/*
 * After `static`: a stack frame of its own in BPF, so that what it needs is not on top of its
 * caller's 512 bytes. Unlike an outlined function it is verified with what its caller knows.
 */
#ifdef __bpf__
#define ROCE_SEPARATE __attribute__((noinline, unused))
#else
#define ROCE_SEPARATE inline __attribute__((unused))
#endif

/*
 * Between two stages of a longer computation: what has to cross is in memory. BPF's verifier
 * follows every combination of values in registers; behind this point it knows none of them any
 * more, so that the ways through the stages add up instead of multiplying.
 */
#ifdef __bpf__
#define ROCE_STAGE() asm volatile("" ::: "memory")
#else
#define ROCE_STAGE() ((void)0)
#endif

/*
 * `v &= mask` where the verifier needs it: before `v`, a variable, is an index or an offset. The
 * mask is a constant, 2^n - 1. The verifier accepts such an access only when it has seen the bound
 * itself, on the register that is added to the pointer. Written in C, the mask is the optimiser's:
 * it removes one that it can prove (clang 19 knows the largest entry of a constant table, where
 * the verifier sees a byte), or masks a copy in another register. This one instruction stays, and
 * what follows uses its result.
 */
#ifdef __bpf__
#define ROCE_BOUND(v, mask) asm volatile("%0 &= %1" : "+r"(v) : "i"(mask))
#else
#define ROCE_BOUND(v, mask) ((void)((v) &= (mask)))
#endif

/* From here on the optimiser knows nothing of the variable's value. No instruction. */
#define ROCE_OPAQUE(v) asm volatile("" : "+r"(v))

/* Unrolling buys nothing where an early exit is the rule, and costs registers and stack. */
#ifdef __clang__
#define ROCE_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROCE_ROLLED
#endif

#define ROCE_LIKELY(x) __builtin_expect(!!(x), 1)
#define ROCE_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * Loads from a packet and a store into one, in wire order (no byte swap). BPF may load unaligned,
 * and clang would split a packed access into bytes; the host goes through memcpy, which is one load
 * there.
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

/* Big-endian fields as host numbers. */
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

/* The low three bytes of a big-endian word: QPN, PSN and MSN stand so behind a byte of flags. */
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
