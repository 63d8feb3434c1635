#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same frames in the same order with the same seed have the same outcome, also in skb mode;
# another seed gives another outcome.
. "$(dirname "$0")/bridge_lib.sh"
need python3
lane3
file=$(capture loss_rc_send_v4)
watch_right

# fate OUT MODE RULE...: what arrives of the capture through a new bridge.
fate() {
  local out=$1
  bridge --mode "$2"
  keep xr impair box0 add "${@:3}" || fail "add ${*:3}: $(cat "$scratch/last.err")"
  replay_left "$file"
  seen_right "$out"
  xr --json impair box0 list >"$scratch/list.json"
  assert_json "$scratch/list.json" '.rules[0].acted > 10'
  unbridge
}
same() { cmp -s "$scratch/first" "$1" || fail "not the same fate: $2"; }

for words in 'probability 2%' 'gilbert 1% 20%' 'distance poisson 40'; do
  # shellcheck disable=SC2086 # words
  {
    fate "$scratch/first" native opcode data $words seed 11 drop
    fate "$scratch/again" native opcode data $words seed 11 drop
    same "$scratch/again" "$words, again"
    fate "$scratch/skb" skb opcode data $words seed 11 drop
    same "$scratch/skb" "$words, in skb mode"
    fate "$scratch/other" native opcode data $words seed 12 drop
  }
  ! cmp -s "$scratch/first" "$scratch/other" || fail "$words: another seed, the same fate"
done

# What is damaged, and how.
fate "$scratch/first" native roce probability 2% corrupt bit seed 5
fate "$scratch/again" skb roce probability 2% corrupt bit seed 5
same "$scratch/again" "corrupt bit"

# A seed that was drawn is in the list, and decides all.
bridge
keep xr --json impair box0 add roce probability 3% drop || fail "add: $(cat "$scratch/last.err")"
drawn=$(xr --json impair box0 list | jq -r '.rules[0].rule')
[[ $drawn == *seed\ [0-9]* ]] || fail "no seed in: $drawn"
unbridge
# shellcheck disable=SC2086 # words
{
  fate "$scratch/first" native $drawn
  fate "$scratch/again" native $drawn
}
same "$scratch/again" "$drawn"
# Given as an option.
fate "$scratch/first" native roce probability 3% drop --seed 21
fate "$scratch/again" native roce probability 3% seed 21 drop
same "$scratch/again" "--seed"
observed
