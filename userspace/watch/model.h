// SPDX-License-Identifier: Apache-2.0
// The live view: readings and keys in, frames out. It reads no clock and no port, and draws
// nothing.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "watch/frame.h"
#include "watch/port_view.h"
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

struct Press {
  Key key = Key::Text;
  std::string text = {}; // of Text: UTF-8
};

struct Options {
  bool unicode = true;     // sparklines and names; else ASCII
  bool interactive = true; // false: a frame that nobody can press a key at
  double interval = 0.5;   // seconds between readings; for the title
};

enum class Page { Streams, Detail, SortMenu, Rules, Events, Help };

// What pages are made from.
struct State {
  Options options;
  std::deque<PortView> ports;
  std::vector<StreamList> lists; // one a port
  size_t port = 0;
  Page page = Page::Streams;
  size_t scroll = 0;    // lines above the first that is seen; pages clamp it
  size_t rows = 1;      // that the last frame had for what scrolls
  size_t shift = 0;     // columns left of the first that is seen of a list page
  size_t beyond = 0;    // columns by which the last frame's list was wider than the screen
  bool editing = false; // the filter is being typed
  bool paused = false;
  size_t menu = 0;                // chosen line of the sort menu
  std::optional<roce_key> detail; // the stream that Page::Detail is about
  History detail_rate;            // its packets a second

  const PortView &view() const { return ports[port]; }
  const StreamList &list() const { return lists[port]; }
  StreamList &list() { return lists[port]; }
};

class Model {
public:
  explicit Model(const Options &options) { state_.options = options; }

  // Before the first reading. `no_events`: why none are to be had, "" if they are.
  void add_port(const std::string &name, const std::string &about = "",
                const std::string &no_events = "");
  void update(size_t port, Reading reading);
  // The port is gone; the others go on.
  void lose(size_t port, const std::string &why);
  void press(const Press &press);
  void show_port(size_t port);
  void sort_by(const std::string &key);
  void set_filter(const std::string &words);
  bool quit() const { return quit_; }

  // Resolves movements, so it is not const.
  Frame frame(const Size &size);

private:
  bool typed(const Press &press);
  bool moved(Key key);
  bool shifted(Key key);
  void chose(const std::string &text);
  void enter();
  void escape();
  void open(Page page);
  void next_sort(long step);
  void zero();
  void pause();

  State state_;
  std::vector<std::optional<Reading>> held_; // what came of each port while it was paused
  bool quit_ = false;
};

} // namespace xr::watch
