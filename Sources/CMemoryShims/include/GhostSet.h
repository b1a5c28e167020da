//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_GHOST_SET_H
#define C_MEMORY_SHIMS_GHOST_SET_H

#include <stdint.h>
#include <string.h>

// The sets of `GhostTable`: eight words of 32 bits, of which the lowest 16 bits are a fingerprint and the highest 14 a
// time. Each is read as two vectors, which the compiler makes instructions of on every processor. An eviction takes 271
// instructions with them, 326 with a loop over the words, and 630 with Swift's SIMD8 (x86-64, callgrind).

typedef uint32_t cms_words __attribute__((vector_size(16)));
typedef int32_t cms_numbers __attribute__((vector_size(16)));

static inline cms_words cms_ghosts(const uint32_t *p) {
    cms_words w;
    memcpy(&w, p, sizeof w);
    return w;
}

/// The place of the ghost with `fingerprint`; 8 where there is none. Of several the first.
static inline int cms_ghost_find(const uint32_t *set, uint32_t fingerprint) {
    const cms_words low = {1, 2, 4, 8}, high = {16, 32, 64, 128};
    cms_words places = (cms_words)((cms_ghosts(set) & 0xFFFF) == fingerprint) & low;
    places |= (cms_words)((cms_ghosts(set + 4) & 0xFFFF) == fingerprint) & high;
    uint64_t halves[2];
    memcpy(halves, &places, sizeof halves);
    uint64_t bits = halves[0] | halves[1];
    bits |= bits >> 32 | 256;
    return __builtin_ctz((uint32_t)bits);
}

static inline cms_numbers cms_ghost_ranks(cms_words ghosts, uint32_t now, cms_numbers places, int32_t ways) {
    cms_words ages = (now - (ghosts >> 18)) & 0x3FFF;
    cms_words empty = (cms_words)(ghosts == 0);
    // Older than all is an empty place.
    ages = (ages & ~empty) | (empty & 0x4000);
    return (cms_numbers)(ages << 3 | (cms_words)places) & (places < ways);
}

static inline cms_numbers cms_greater(cms_numbers a, cms_numbers b) {
    cms_numbers isGreater = a > b;
    return (a & isGreater) | (b & ~isGreater);
}

/// The greatest of {age, place} of the first `ways` places at time `now`: the age in steps, 0x4000 where the place is
/// empty, above the three bits of the place.
static inline uint32_t cms_ghost_oldest(const uint32_t *set, uint32_t now, int32_t ways) {
    const cms_numbers low = {0, 1, 2, 3}, high = {4, 5, 6, 7};
    cms_numbers ranks = cms_greater(
        cms_ghost_ranks(cms_ghosts(set), now, low, ways), cms_ghost_ranks(cms_ghosts(set + 4), now, high, ways));
    ranks = cms_greater(ranks, __builtin_shufflevector(ranks, ranks, 2, 3, 0, 1));
    ranks = cms_greater(ranks, __builtin_shufflevector(ranks, ranks, 1, 0, 3, 2));
    return (uint32_t)ranks[0];
}

#endif
