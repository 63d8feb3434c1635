/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Accounts for a parsed packet in counters, streams and events. The XDP program and the capture
 * analyser both use this code.
 */
#ifndef ROCE_ACCOUNT_H
#define ROCE_ACCOUNT_H

#include "cm.h"
#include "counters.h"
#include "learn.h"
#include "missing.h"
#include "pfc.h"

/* Counts a frame of `length` bytes that is not RoCE or cannot be parsed. */
static ROCE_INLINE void roce_count_other(struct roce_env *env, int class_,
                                         const struct roce_packet *p, __u32 length, int snapped) {
  struct roce_totals *t = roce_totals_of(env);

  if (!t || class_ < 0 || class_ >= ROCE_CLASS_MAX)
    return;
  t->frames[class_]++;
  t->bytes += length;
  if (p->cut && snapped)
    t->cut++;
}

static ROCE_INLINE void roce_count_class(struct roce_env *env, __u32 index, __u32 length) {
  struct roce_class_count *c = roce_class_count_at(env, index);

  if (!c)
    return;
  c->packets++;
  c->bytes += length;
}

/* RoCEv1 has no DSCP. Not inlined: keeps its registers out of its callers' stack frames. */
static ROCE_SEPARATE int roce_count_classes(struct roce_env *env, __u32 v1, __u32 dscp, __u32 tci,
                                            __u32 length) {
  if (!v1)
    roce_count_class(env, dscp, length);
  roce_count_class(env,
                   tci ? ROCE_CLASS_PCP + (tci >> ROCE_VLAN_PCP_SHIFT) : (__u32)ROCE_CLASS_UNTAGGED,
                   length);
  return 0;
}

/* Counts a RoCEv2 or RoCEv1 packet in a frame of `length` bytes. */
static ROCE_INLINE void roce_count(struct roce_env *env, int class_, const struct roce_packet *p,
                                   __u32 length) {
  __u32 v1 = class_ == ROCE_CLASS_V1;
  struct roce_opcode_count *c =
      roce_opcode_count_at(env, p->opcode + (v1 ? ROCE_OPCODE_COUNT_V1 : 0));

  if (!c)
    return;
  c->packets[v1 ? 0 : p->ecn & 3]++;
  c->bytes += length;
  if (p->info & ROCE_HAS_AETH && !p->cut && !(p->info & ROCE_OP_READ_RESPONSE)) {
    struct roce_totals *t = roce_totals_of(env);
    __u32 index = roce_aeth_index(p->syndrome);

    ROCE_BOUND(index, ROCE_AETH_COUNTS - 1);
    if (t)
      t->aeth[index]++;
  }
}

ROCE_OUTLINE int roce_tell(struct roce_env *env, const struct roce_packet *p,
                           const struct roce_outcome *o) {
  struct roce_totals *t = roce_totals_of(env);
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_event *event;

  if (!t || !scratch || !p || !o)
    return 0;
  t->events_limited += o->limited;
  event = &scratch->event;
  event->key = p->key;
  event->opcode = p->opcode;
  event->syndrome = p->syndrome;
  event->psn = p->psn;
  event->expected = o->expected;
  event->skipped = o->skipped;
  for (int type = 0; type < ROCE_EVENT_TYPES; type++) {
    if (!(o->events & 1u << type))
      continue;
    event->type = (__u8)type;
    if (roce_emit(env, event))
      t->events_dropped++;
  }
  return 0;
}

/* Emits the first or the last event of a stream: STREAM_NEW or STREAM_FORGOTTEN. */
static ROCE_INLINE void roce_tell_stream(struct roce_env *env, const struct roce_packet *p,
                                         struct roce_outcome *o, int type) {
  __builtin_memset(o, 0, sizeof(*o));
  o->events = 1u << type;
  o->expected = p->psn;
  roce_tell(env, p, o);
}

/* QP numbers only increase. Userspace restarts the numbering: it stores the last number given. */
static ROCE_INLINE __u64 roce_numbers_before(struct roce_env *env, const struct roce_key *key) {
  const __u64 *word = roce_hint_at(env, ROCE_HINTS_NUMBERS + ((key->qp_kind & ROCE_KEY_SIDE) != 0));

  return word ? ROCE_LOAD(word) : 0;
}

/* A QP gets its number with its first stream; its other stream (request or response) shares it. */
ROCE_OUTLINE int roce_number_qp(struct roce_env *env, const struct roce_key *key, __u32 id) {
  struct roce_shared *shared = roce_shared_of(env);
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_aside *own = roce_aside_at(env, id & (ROCE_ASIDES - 1)), *other;
  __u32 sibling;
  __u64 number;

  if (!key || !shared || !scratch || !own || roce_key_kind(key) > ROCE_KIND_RESPONSE)
    return 0;
  number = ROCE_LOAD(&own->number);
  if (number && number >> 40 != id + 1) /* the entry belongs to another record */
    return 0;
  roce_sibling_key(key, &scratch->answered);
  sibling = roce_table_find(env, &scratch->answered,
                            roce_key_hash(&scratch->answered, roce_hash_seed(env)));
  other = sibling != ROCE_NO_STREAM ? roce_aside_at(env, sibling & (ROCE_ASIDES - 1)) : ROCE_NULL;
  if (other && roce_number_in(other, sibling, roce_numbers_before(env, key)))
    number = ROCE_LOAD(&other->number) & ROCE_PACE_TIME;
  else
    number = __sync_fetch_and_add(&shared->qps[(key->qp_kind & ROCE_KEY_SIDE) != 0], 1) + 1;
  ROCE_STORE(&own->number, (__u64)(id + 1) << 40 | number);
  return 0;
}

/* After a restart of the numbering, an existing QP gets its new number with its next packet. */
static ROCE_INLINE void roce_number_anew(struct roce_env *env, const struct roce_key *key,
                                         __u32 id) {
  const struct roce_aside *aside = roce_aside_at(env, id & (ROCE_ASIDES - 1));
  __u64 number = aside ? ROCE_LOAD(&aside->number) : 0;

  if (number >> 40 == id + 1 &&
      ROCE_UNLIKELY((number & ROCE_PACE_TIME) <= roce_numbers_before(env, key)))
    roce_number_qp(env, key, id);
}

/*
 * Completes the packet's key, and finds or adds its stream. Returns the record id, or
 * ROCE_NO_STREAM (counted) when the table is full or too many CPUs add streams at once.
 */
ROCE_OUTLINE __u32 roce_stream_of(struct roce_env *env, struct roce_packet *p) {
  struct roce_totals *t = roce_totals_of(env);
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_inserted *in;
  __u64 hash;
  __u32 id;
  int verdict;

  ROCE_FORGET(env);
  if (!p || !t || !scratch)
    return ROCE_NO_STREAM;
  roce_key_fill(&p->key);
  hash = roce_key_hash(&p->key, roce_hash_seed(env));
  id = roce_table_find(env, &p->key, hash);
  if (id != ROCE_NO_STREAM)
    return id;
  in = &scratch->inserted;
  in->forgotten.qp_kind = ROCE_KEY_NONE;
  in->window = roce_window(env);
  verdict = roce_table_insert(env, &p->key, hash, in);
  if (in->forgotten.qp_kind != ROCE_KEY_NONE && verdict == ROCE_INSERT_NEW) {
    t->streams_forgotten++;
    scratch->trace.found |= ROCE_FOUND_MADE_WAY;
    scratch->forgotten = *p;
    scratch->forgotten.key = in->forgotten;
    roce_tell_stream(env, &scratch->forgotten, &scratch->outcome, ROCE_EVENT_STREAM_FORGOTTEN);
  }
  if (verdict == ROCE_INSERT_NEW) {
    scratch->trace.found |= ROCE_FOUND_NEW;
    roce_tell_stream(env, p, &scratch->outcome, ROCE_EVENT_STREAM_NEW);
    roce_number_qp(env, &p->key, in->id);
  }
  if (verdict == ROCE_INSERT_FULL) {
    t->streams_full++;
    scratch->trace.found |= ROCE_FOUND_FULL;
  }
  if (verdict == ROCE_INSERT_CONTENDED) {
    t->streams_contended++;
    scratch->trace.found |= ROCE_FOUND_CONTENDED;
  }
  return verdict == ROCE_INSERT_NEW || verdict == ROCE_INSERT_OLD ? in->id : ROCE_NO_STREAM;
}

/* Updates stream `id` with the packet, under the stream's lock. 1: scratch->outcome has events. */
ROCE_OUTLINE int roce_track_slow(struct roce_env *env, struct roce_packet *p, __u32 length,
                                 __u32 id) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_stream *s = roce_stream_at(env, id);
  __u8 window = roce_window(env);
  struct roce_outcome *o;

  if (!p || !scratch || !s)
    return 0;
  o = &scratch->outcome;
  __builtin_memset(o, 0, sizeof(*o));
  roce_lock(s);
  if (roce_key_equal(&s->key, &p->key))
    roce_stream_slow(s, p, length, window, o);
  else
    o->forgotten = 1;
  roce_unlock(s);
  if (o->forgotten) { /* the stream was idle for long, and its record was reused meanwhile */
    struct roce_totals *t = roce_totals_of(env);

    if (t)
      t->streams_contended++;
    scratch->trace.found |= ROCE_FOUND_CONTENDED;
    return 0;
  }
  scratch->trace.found |= ROCE_FOUND_SLOW | o->found;
  if (o->register_read)
    roce_register_read(env, p, id);
  if (o->link_pmtu && roce_link_read(env, p, o->link_pmtu))
    roce_set_linked(s);
  return (o->events | o->limited) != 0;
}

/*
 * Tracks a packet that the fast path does not handle. Reserved and manufacturer opcodes belong to
 * no stream. Returns the stream's record id, or ROCE_NO_STREAM.
 */
static ROCE_INLINE __u32 roce_track_any(struct roce_env *env, struct roce_packet *p, __u32 length) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  __u32 id;

  if (!p->info || !scratch)
    return ROCE_NO_STREAM;
  id = roce_stream_of(env, p);
  if (id == ROCE_NO_STREAM)
    return id;
  roce_number_anew(env, &p->key, id);
  if (roce_track_slow(env, p, length, id))
    roce_tell(env, p, &scratch->outcome);
  if (roce_features(env) & ROCE_FEATURE_DECAP)
    roce_note_missing(env, id, &scratch->outcome);
  roce_learn(env, p, id);
  return id;
}

/*
 * Accounts for the packet in its stream; returns the stream's record id, or ROCE_NO_STREAM. The
 * slow path uses a copy of `p`, so that the fast path can keep `p` in registers. `skipped`, 0
 * before: it need not be followed.
 */
static ROCE_INLINE __u32 roce_track_or_skip(struct roce_env *env, const struct roce_packet *p,
                                            __u32 length, int *skipped) {
  __u64 hash = roce_key_hash(&p->key, roce_hash_seed(env));
  const struct roce_bucket *bucket = roce_bucket_at(env, roce_home(env, hash));
  struct roce_place place = {};
  struct roce_scratch *scratch;

  if (!bucket)
    return ROCE_NO_STREAM;
  roce_bucket_find(env, bucket, roce_tag(hash), &p->key, &place);
  if (ROCE_LIKELY(place.stream)) {
    if (p->info & (ROCE_OP_ACK | ROCE_OP_CNP | ROCE_OP_DATAGRAM)) {
      if (roce_stream_fast_ack(place.stream, p, length))
        return place.id;
    } else if (ROCE_LIKELY(roce_stream_fast(env, place.stream, p, length, skipped))) {
      return place.id;
    }
  }
  scratch = roce_scratch_of(env);
  if (!scratch)
    return ROCE_NO_STREAM;
  scratch->packet = *p;
  return roce_track_any(env, &scratch->packet, length);
}

/* Updates the packet's stream where QP pairs are not followed. */
static ROCE_INLINE __u32 roce_track(struct roce_env *env, const struct roce_packet *p,
                                    __u32 length) {
  int skipped = 0;

  return roce_track_or_skip(env, p, length, &skipped);
}

/* Hash of a CM message: its sender's address, the peer's address, the sender's communication ID. */
static ROCE_INLINE __u64 roce_cm_hash(struct roce_env *env, const __u32 *src, const __u32 *dst,
                                      int ipv4, __u32 comm_id) {
  return roce_mix(roce_hash_pair(src, dst, ipv4, ~roce_hash_seed(env)) +
                  comm_id * 0xd6e8feb86659fd93ull);
}

/*
 * RDMA CM starts a new use of a QP; `key` is the stream of requests to it. `src_qp` is the QPN of
 * the requests' sender, or ROCE_QPN_UNKNOWN; a QPN learnt from earlier answers is discarded.
 */
ROCE_OUTLINE int roce_begin_qp(struct roce_env *env, struct roce_key *key, __u32 src_qp) {
  struct roce_stream *s;
  __u64 word;

  if (!key)
    return 0;
  ROCE_ROLLED
  for (int i = 0; i < 2; i++) {
    s = roce_stream_at(env, roce_table_find(env, key, roce_key_hash(key, roce_hash_seed(env))));
    key->qp_kind ^= ROCE_KIND_RESPONSE << ROCE_KIND_SHIFT;
    if (!s)
      continue;
    roce_lock(s);
    word = roce_stream_take(s);
    roce_stream_forget_src_qp(s);
    if (src_qp != ROCE_QPN_UNKNOWN)
      roce_stream_set_src_qp(s, src_qp);
    roce_stream_publish(s, word);
    roce_unlock(s);
  }
  return 0;
}

/* The hint of the REQ that a REP answers; 0: the REQ was not seen. */
static ROCE_INLINE __u64 roce_cm_request(struct roce_env *env, const struct roce_packet *p,
                                         const struct roce_cm *cm, int ipv4) {
  __u64 hash = roce_cm_hash(env, p->key.dst, p->key.src, ipv4, cm->remote_id);
  __u64 *hint = roce_hint_at(env, ROCE_HINTS_CM + ((__u32)hash & (ROCE_HINTS_CM - 1)));
  __u64 value = hint ? ROCE_LOAD(hint) : 0;

  return cm->attribute == ROCE_CM_ATTR_REP && !((value ^ hash) >> 32) ? value : 0;
}

/*
 * Learns from an RDMA CM REQ or REP: initialises the stream of requests to the message's sender. A
 * message's hint is check << 32 | QPN << 8 | 0x80 | PMTU code; an equal hint means that the MAD is
 * a repetition. A REP and its REQ together have both QPNs of the connection.
 */
ROCE_OUTLINE int roce_learn_cm(struct roce_env *env, struct roce_packet *p,
                               const struct roce_cm *cm) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_packet *announced;
  int ipv4;
  __u32 code;
  struct roce_stream *s;
  __u64 hash, value, request, *hint;

  if (!p || !cm || !scratch)
    return 0;
  ipv4 = (p->key.qp_kind & ROCE_KEY_IPV4) != 0;
  roce_key_fill(&p->key);
  request = roce_cm_request(env, p, cm, ipv4); /* the PMTU is in the REQ only */
  code = request ? (__u32)request & 7 : cm->pmtu_code;
  hash = roce_cm_hash(env, p->key.src, p->key.dst, ipv4, cm->local_id);
  hint = roce_hint_at(env, ROCE_HINTS_CM + ((__u32)hash & (ROCE_HINTS_CM - 1)));
  if (!hint)
    return 0;
  value = (hash & 0xffffffff00000000ull) | (__u64)cm->qpn << 8 | 0x80 | code;
  if (ROCE_LOAD(hint) == value)
    return 0;
  ROCE_STORE(hint, value);

  announced = &scratch->announced;
  *announced = *p;
  roce_reverse_request_key(env, &p->key, cm->qpn, &announced->key);
  announced->psn = cm->psn;
  announced->payload = code; /* not on BPF's stack */
  s = roce_stream_at(env, roce_stream_of(env, announced));
  if (!s)
    return 0;
  roce_lock(s);
  roce_stream_announce(s, announced->psn, announced->payload);
  roce_unlock(s);
  scratch->trace.found = (scratch->trace.found & ~(__u32)ROCE_FOUND_NEW) | ROCE_FOUND_ANNOUNCED;
  roce_begin_qp(env, &announced->key,
                request ? (__u32)(request >> 8) & 0xffffff : ROCE_QPN_UNKNOWN);
  if (request) { /* the stream announced by the REQ: from the REP's sender to the REQ's */
    announced->key = p->key;
    announced->key.qp_kind = ((__u32)(request >> 8) & 0xffffff) |
                             (p->key.qp_kind & (ROCE_KEY_IPV4 | ROCE_KEY_SIDE | ROCE_KEY_V1));
    roce_begin_qp(env, &announced->key, cm->qpn);
  }
  return 0;
}

/* Reads a UD SEND to QP1 into scratch->cm; attribute 0: it is no RDMA CM message. */
static ROCE_INLINE void roce_read_mad(struct roce_scratch *scratch, const struct roce_packet *p,
                                      const __u8 *data, const __u8 *end) {
  __u32 bth = p->bth;

  if (bth > 255) /* after long IPv6 extension headers; the BPF verifier needs a bound */
    return;
  ROCE_BOUND(bth, 255);
  roce_parse_cm(data + bth, end, &scratch->cm);
}

/*
 * Counts a parsed frame of `length` bytes, of which [data, end) are available. With `track`, 1 when
 * the caller has to track the packet's stream: roce_track_any, and before that roce_learn_mad.
 */
static ROCE_INLINE int roce_account(struct roce_env *env, int class_, struct roce_packet *p,
                                    const __u8 *data, const __u8 *end, __u32 length, int track) {
  struct roce_scratch *scratch = roce_scratch_of(env);

  if (!scratch)
    return 0;
  scratch->cm.attribute = 0;
  if (!roce_is_roce(class_)) {
    roce_count_other(env, class_, p, length, (__u32)(end - data) < length);
    if (class_ == ROCE_CLASS_PFC) {
      __u32 l3 = p->l3;

      ROCE_BOUND(l3, 31); /* after two tags it is 22 */
      roce_count_pfc(env, data + l3, end);
    }
    return 0;
  }
  roce_count(env, class_, p, length);
  if (roce_features(env) & ROCE_FEATURE_CLASSES)
    roce_count_classes(env, class_ == ROCE_CLASS_V1, p->tos >> 2, p->vlan, length);
  if (track && roce_is_gsi(p))
    roce_read_mad(scratch, p, data, end);
  return track;
}

/* Learns from the RDMA CM message that roce_account read, if it did. */
static ROCE_INLINE void roce_learn_mad(struct roce_env *env, struct roce_packet *p) {
  struct roce_scratch *scratch = roce_scratch_of(env);

  if (scratch && scratch->cm.attribute)
    roce_learn_cm(env, p, &scratch->cm);
}

#endif
