// SPDX-License-Identifier: Apache-2.0
// The live view without its terminal: takes readings and keys, returns screens. It reads no clock
// and no port.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "watch/port_view.h"
#include "watch/screen.h"
#include "watch/stream_list.h"

namespace xr::watch {

enum class Key {
  Text, // a character
  Up,
  Down,
  Left,
  Right,
  PageUp,
  PageDown,
  Home,
  End,
  Enter,
  Escape,
  Tab,
  BackTab,
  Backspace,
  F1,
  F3,
  F4,
  F6,
  F10,
};

struct KeyPress {
  Key key = Key::Text;
  std::string text = {}; // for Key::Text: one UTF-8 character
};

struct Options {
  bool unicode = true;     // false: ASCII only
  bool interactive = true; // false: for --once, without a line of keys
  double interval = 0.5;   // seconds between readings; shown in the title
};

enum class Page { Streams, Detail, SortMenu, Rules, Events, Job, Help };

// The state from which pages are made.
struct State {
  Options options;
  std::deque<PortView> ports;
  std::vector<StreamList> lists; // one per port
  size_t port = 0;
  Page page = Page::Streams;
  size_t scroll = 0;      // lines scrolled down; limited to the content when the screen is made
  size_t rows = 1;        // rows of the scrolled part of the last screen
  size_t left_column = 0; // columns scrolled right, on list pages
  size_t overhang = 0;    // columns by which the last list was wider than the screen
  bool editing = false;   // the user is typing the filter
  bool paused = false;
  size_t menu = 0;                // selected line of the sort menu
  std::optional<roce_key> detail; // the stream shown by Page::Detail
  History detail_rate;            // its packets per second

  const PortView &view() const { return ports[port]; }
  const StreamList &list() const { return lists[port]; }
  StreamList &list() { return lists[port]; }
};

class Model {
public:
  explicit Model(const Options &options) { state_.options = options; }

  // Call before the first reading. `no_events`: why there are no events, "" if there are.
  void add_port(const std::string &name, const std::string &about = "",
                const std::string &no_events = "");
  void update(size_t port, Reading reading);
  // The port cannot be read any more; the other ports continue.
  void mark_gone(size_t port, const std::string &why);
  void press(const KeyPress &press);
  void show_port(size_t port);
  void sort_by(const std::string &key);
  void set_filter(const std::string &words);
  bool quit() const { return quit_; }

  // Also applies key presses to the scroll positions, so it is not const.
  Screen screen(const Size &size);

private:
  bool edit_filter(const KeyPress &press);
  bool scroll_by_key(Key key);
  bool scroll_sideways(Key key);
  void on_character(const std::string &text);
  void enter();
  void escape();
  void open(Page page);
  void next_sort(long step);
  void zero();
  void pause();

  State state_;
  // Readings of each port that arrived while paused, merged.
  std::vector<std::optional<Reading>> held_;
  bool quit_ = false;
};

} // namespace xr::watch
