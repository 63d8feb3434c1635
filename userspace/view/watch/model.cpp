// SPDX-License-Identifier: Apache-2.0
#include "watch/model.h"

#include <algorithm>
#include <utility>

#include "watch/layout.h"
#include "watch/stream_page.h"
#include "watch/stream_table.h"
#include "watch/text_width.h"

namespace xr::watch {

namespace {

// Capital letters select a sort key, as in htop.
const char *sort_of(char letter) {
  switch (letter) {
  case 'M':
    return "lost_before";
  case 'W':
    return "rewinds";
  case 'E':
    return "ce";
  case 'N':
    return "cnps";
  case 'P':
    return kPacketRate;
  case 'B':
    return kBitRate;
  default:
    return nullptr;
  }
}

} // namespace

void Model::add_port(const std::string &name, const std::string &about,
                     const std::string &no_events) {
  state_.ports.emplace_back(drawable(name, state_.options.unicode),
                            drawable(about, state_.options.unicode), no_events);
  state_.lists.emplace_back();
  held_.emplace_back();
}

void Model::update(size_t port, Reading reading) {
  if (state_.paused) {
    merge_readings(held_[port], std::move(reading));
    return;
  }
  state_.ports[port].update(std::move(reading));
  if (port == state_.port && state_.page == Page::Detail && state_.detail)
    if (const auto place = state_.view().find(*state_.detail))
      state_.detail_rate.add(state_.view().rates(*place).packets);
}

void Model::mark_gone(size_t port, const std::string &why) {
  state_.ports[port].mark_gone(drawable(why, state_.options.unicode));
}

void Model::pause() {
  state_.paused = !state_.paused;
  for (size_t port = 0; !state_.paused && port < held_.size(); port++)
    if (auto reading = std::exchange(held_[port], std::nullopt))
      update(port, std::move(*reading));
}

void Model::zero() {
  const bool counting = state_.view().zeroed_at().has_value();
  for (PortView &port : state_.ports)
    counting ? port.unzero() : port.zero();
}

void Model::show_port(size_t port) {
  if (port >= state_.ports.size() || port == state_.port)
    return;
  state_.port = port;
  state_.scroll = state_.left_column = 0;
  if (state_.page == Page::Detail)
    open(Page::Streams);
}

void Model::sort_by(const std::string &key) {
  for (StreamList &list : state_.lists)
    list.sort_by(key);
}

void Model::set_filter(const std::string &words) {
  for (StreamList &list : state_.lists)
    list.set_filter(words);
}

void Model::next_sort(long step) {
  const auto keys = number_columns();
  const auto at = std::find(keys.begin(), keys.end(), state_.list().sort());
  const long count = static_cast<long>(keys.size());
  const long next = at == keys.end() ? 0 : at - keys.begin() + step;
  sort_by(keys[static_cast<size_t>((next % count + count) % count)]);
}

void Model::open(Page page) {
  state_.page = page;
  state_.scroll = state_.left_column = 0;
}

// Edits the filter. False: the key does not belong to the filter.
bool Model::edit_filter(const KeyPress &press) {
  std::string words = state_.list().filter();
  switch (press.key) {
  case Key::Text:
    words += press.text;
    break;
  case Key::Backspace:
    while (!words.empty() && (words.back() & 0xc0) == 0x80)
      words.pop_back();
    if (!words.empty())
      words.pop_back();
    break;
  case Key::Enter:
    state_.editing = false;
    return true;
  case Key::Escape:
    state_.editing = false;
    words.clear();
    break;
  default:
    return false;
  }
  set_filter(words);
  return true;
}

bool Model::scroll_by_key(Key key) {
  constexpr long kAll = 1'000'000'000;
  const long page = static_cast<long>(state_.rows);
  const long step = key == Key::Up         ? -1
                    : key == Key::Down     ? 1
                    : key == Key::PageUp   ? -page
                    : key == Key::PageDown ? page
                    : key == Key::Home     ? -kAll
                    : key == Key::End      ? kAll
                                           : 0;
  if (!step)
    return false;
  if (state_.page == Page::Streams) {
    key == Key::Home ? state_.list().to_top() : state_.list().move(step);
    return true;
  }
  size_t &what = state_.page == Page::SortMenu ? state_.menu : state_.scroll;
  // Limited to the content when the screen is made.
  what = static_cast<size_t>(std::max(static_cast<long>(what) + step, 0L));
  return true;
}

// Scrolls left and right, at most to the end of the longest visible line.
bool Model::scroll_sideways(Key key) {
  constexpr size_t kStep = 8;
  if (key == Key::Left)
    state_.left_column -= std::min(state_.left_column, kStep);
  else if (key == Key::Right && state_.page != Page::Streams)
    state_.left_column =
        std::max(state_.left_column, std::min(state_.left_column + kStep, state_.overhang));
  return key == Key::Left || key == Key::Right;
}

void Model::enter() {
  if (state_.page == Page::SortMenu) {
    const auto keys = sort_keys();
    sort_by(keys[std::min(state_.menu, keys.size() - 1)]);
    open(Page::Streams);
  } else if (state_.page == Page::Streams && state_.view().ready()) {
    // Keys may have been pressed since the last screen.
    state_.list().window(state_.view(), state_.rows);
    const auto place = state_.list().selected(state_.view());
    if (!place)
      return;
    state_.detail = state_.view().counted().streams[*place].key;
    state_.detail_rate.clear();
    open(Page::Detail);
  } else {
    open(Page::Streams);
  }
}

void Model::escape() {
  if (state_.page != Page::Streams)
    open(Page::Streams);
  else if (!state_.list().filter().empty())
    set_filter("");
  else
    quit_ = true;
}

void Model::on_character(const std::string &text) {
  const char letter = text.size() == 1 ? text[0] : '\0';
  if (const char *key = sort_of(letter)) {
    sort_by(key);
    return;
  }
  if (letter >= '1' && letter <= '9') {
    show_port(static_cast<size_t>(letter - '1'));
    return;
  }
  const auto toggle = [this](Page page) { open(state_.page == page ? Page::Streams : page); };
  switch (letter) {
  case 'q':
    quit_ = true;
    break;
  case '?':
  case 'h':
    toggle(Page::Help);
    break;
  case '/':
    open(Page::Streams);
    state_.editing = true;
    break;
  case 's': {
    const auto keys = sort_keys();
    state_.menu = static_cast<size_t>(std::find(keys.begin(), keys.end(), state_.list().sort()) -
                                      keys.begin());
    toggle(Page::SortMenu);
    break;
  }
  case '>':
  case '<':
    next_sort(letter == '>' ? 1 : -1);
    break;
  case 'I':
    for (StreamList &list : state_.lists)
      list.invert();
    break;
  case 'r':
    toggle(Page::Rules);
    break;
  case 'e':
    toggle(Page::Events);
    break;
  case 'j':
    toggle(Page::Job);
    break;
  case 'p':
  case ' ':
    pause();
    break;
  case 'z':
    zero();
    break;
  default:
    break;
  }
}

void Model::press(const KeyPress &press) {
  if ((state_.editing && edit_filter(press)) || scroll_by_key(press.key) ||
      scroll_sideways(press.key))
    return;
  const size_t ports = state_.ports.size();
  switch (press.key) {
  case Key::Text:
    on_character(press.text);
    break;
  case Key::Enter:
    enter();
    break;
  case Key::Escape:
    escape();
    break;
  case Key::Tab:
    show_port((state_.port + 1) % ports);
    break;
  case Key::BackTab:
    show_port((state_.port + ports - 1) % ports);
    break;
  case Key::F1:
    on_character("h");
    break;
  case Key::F3:
  case Key::F4:
    on_character("/");
    break;
  case Key::F6:
    on_character("s");
    break;
  case Key::F10:
    quit_ = true;
    break;
  default:
    break;
  }
}

Screen Model::screen(const Size &size) { return render(state_, size); }

} // namespace xr::watch
