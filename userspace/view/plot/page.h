// SPDX-License-Identifier: Apache-2.0
// The report of an experiment as one HTML file that needs no network: plots one can zoom
// (dygraphs), expectations, tables, the file of the experiment.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/experiment_result.h"
#include "plot/figure.h"
#include "plot/headline.h"

namespace xr::plot {

// Cells are numbers, words or unknown.
struct PageTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::variant<std::monostate, double, std::string>>> rows;
  std::vector<std::string> links = {}; // of each row's first cell, relative to the page; "": none
};

// What the frames went through, for a drawing. Many hosts of a switch are one node.
struct PageNetwork {
  struct Node {
    std::string name; // "sender-1", or "sender-1 ... sender-200"
    enum class Tier : uint8_t { Top, Middle, Bottom } tier = Tier::Middle;
    bool host = false;
  };
  struct Link {
    size_t from = 0, to = 0; // nodes; frames go both ways
    uint64_t rate_bps = 0, delay_ns = 0;
    size_t count = 1;                    // links of its hosts
    bool bottleneck = false;             // of the queue at `from` towards `to`
    std::vector<std::string> rules = {}; // "drop-1 (to switch:receiver)"
  };
  std::vector<Node> nodes;
  std::vector<Link> links;
  std::string queue; // words of the switches' queues
};

struct Page {
  std::string file;            // text of the experiment's file
  std::vector<Moment> moments; // its schedule
  std::vector<Figure> figures;
  std::vector<PageTable> tables = {}; // after those of flows, queues and rules
  PageNetwork network = {};           // without nodes: no drawing
  std::vector<std::pair<std::string, std::string>> provenance = {}; // what ran, where and when
  std::string headline = {};                                        // sentences
  std::vector<std::string> drawings = {};                           // SVG, after the plots
};

std::string html(const ExperimentResult &result, const Page &page);

// Runs over one another.
struct ComparisonPage {
  struct Row {
    std::string name, column;                    // of a flow or queue
    std::vector<double> values;                  // of the runs
    std::vector<std::optional<double>> relative; // of all but the first: (value - first) / first
  };
  std::string title;
  std::vector<std::pair<std::string, ExperimentResult>> runs; // with their labels
  std::vector<Row> rows;
  std::vector<Figure> figures;
  std::vector<std::pair<std::string, std::string>> provenance = {};
};

std::string html(const ComparisonPage &page);

// A sweep: values over its keys, and its points.
struct SweepPage {
  std::string title, verdict, headline;
  std::vector<Figure> figures; // small, side by side
  PageTable points;
  std::vector<PageTable> more = {}; // tables after it
  std::string file = {};            // text of the experiment's file; "": it is not shown
  std::vector<std::pair<std::string, std::string>> provenance = {};
};

std::string html(const SweepPage &page);

// A capture.
struct CapturePage {
  std::string title, headline;
  std::vector<std::string> facts; // what found no room in the plots
  double duration_s = 0;
  std::vector<Tile> tiles;
  std::vector<Figure> figures;
  std::vector<PageTable> tables;
  std::vector<std::pair<std::string, std::string>> provenance = {};
};

std::string html(const CapturePage &page);

} // namespace xr::plot
