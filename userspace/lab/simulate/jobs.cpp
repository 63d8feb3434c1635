// SPDX-License-Identifier: Apache-2.0
// Jobs: connections between their ranks, messages when what they wait for has come, and flows that
// start after others.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "progress/summary.h"
#include "requester/reliable.h"
#include "simulate/job_connections.h"
#include "simulate/world.h"

namespace xr::simulate {

using job::Job;
using job::Need;
using job::Operation;

namespace {

// Shares of a step below which nothing is its cause. A medium takes some time itself.
constexpr double kLeast = 0.01, kLeastOfMedium = 0.05;

} // namespace

// Flows that start after others are a job too: its operations are flows.
Status World::build_after() {
  std::map<std::string_view, uint32_t> numbers;
  Job job;
  std::vector<Operation> waits;
  for (uint32_t i = 0; i < scenario_.flows.size(); i++) {
    FlowSetup &setup = scenario_.flows[i];
    if (setup.after.empty())
      continue;
    std::vector<Need> needs;
    for (const FlowSetup::After &after : setup.after) {
      if (numbers.empty())
        for (uint32_t n = 0; n < scenario_.flows.size(); n++)
          numbers[scenario_.flows[n].name] = n;
      const auto found = numbers.find(after.flow);
      if (found == numbers.end())
        return Error{fmt::format("{} starts after {}, which is no flow", setup.name, after.flow),
                     "the name of a flow"};
      if (flow_operations_.empty())
        flow_operations_.assign(scenario_.flows.size(), job::kNone);
      uint32_t &before = flow_operations_[found->second];
      if (before == job::kNone && !scenario_.flows[found->second].after.empty())
        return Error{fmt::format("{} starts after {}, which is below it", setup.name, after.flow),
                     "a flow above it in the list"};
      if (before == job::kNone) // it starts by its time
        before = job.add({.kind = Operation::Kind::Flow, .amount = found->second});
      needs.push_back({before, after.when});
    }
    setup.started = false;
    uint32_t ready = job.add({.fewest = setup.fewest}, std::span<const Need>(needs));
    if (setup.after_ns)
      ready = job.add(
          {.kind = Operation::Kind::Compute, .channel = job::kNone, .amount = setup.after_ns},
          {{ready}});
    flow_operations_[i] = job.add({.kind = Operation::Kind::Flow, .amount = i}, {{ready}});
  }
  if (!job.operations.empty())
    scenario_.jobs.push_back({std::move(job), {}});
  return {};
}

// Before the flows are built: a connection is a flow, whose messages are posted.
Status World::build_jobs() {
  XR_TRY(build_after());
  for (const JobSetup &given : scenario_.jobs) {
    const JobConnections connections = XR_TRY(connections_of(given.job));
    const auto first = static_cast<uint32_t>(scenario_.flows.size());
    for (const JobConnection &connection : connections.all) {
      FlowSetup &setup = scenario_.flows.emplace_back(given.like);
      setup.name = connection.name;
      setup.src = given.job.hosts[connection.rank];
      setup.dst = given.job.hosts[connection.peer];
      setup.of_job = true;
      setup.started = false;
      setup.flow.posted = true;
      setup.flow.messages = 0;
      setup.flow.qps = 1;
      setup.flow.size.parts = {{.bytes = connection.largest, .weight = 1}};
      job_connections_.push_back(static_cast<uint32_t>(jobs_.size()));
    }
    JobRun &run = *jobs_.emplace_back(std::make_unique<JobRun>(given.job));
    run.flows = connections.of_operation;
    for (size_t i = 0; i < run.flows.size(); i++)
      if (given.job.operations[i].kind == Operation::Kind::Flow)
        run.flows[i] = static_cast<uint32_t>(given.job.operations[i].amount);
      else if (run.flows[i] != kNone)
        run.flows[i] += first;
  }
  return {};
}

// Once the flows are there.
void World::join_jobs() {
  const size_t first = flows_.size() - job_connections_.size();
  for (size_t i = 0; i < job_connections_.size(); i++) {
    flows_[first + i].posted = std::make_unique<FlowRun::Posted>();
    flows_[first + i].posted->job = job_connections_[i];
  }
  for (uint32_t number = 0; number < jobs_.size(); number++) {
    const JobRun &run = *jobs_[number];
    for (uint32_t i = 0; i < run.flows.size(); i++) {
      if (run.flows[i] == kNone)
        continue;
      FlowRun &flow = flows_[run.flows[i]];
      if (flow.posted) {
        flow.posted->left++;
        flow.posted->control = run.job.operations[i].control;
      } else {
        flow.job = number;
        flow.operation = i;
      }
    }
    at(run.job.start_ns, Action::Kind::Job, number);
  }
}

void World::run_job(uint32_t number) {
  JobRun &run = *jobs_[number];
  if (!run.begun) {
    run.begun = true;
    run.progress.start(now_);
  }
  run.progress.advance(now_);
  go_on_with(number);
}

// Begins what may begin, and sets the time of its next compute.
void World::go_on_with(uint32_t number) {
  JobRun &run = *jobs_[number];
  for (uint32_t next; (next = run.progress.take()) != job::kNone;) {
    const Operation &operation = run.job.operations[next];
    const uint32_t flow = run.flows[next];
    if (operation.kind == Operation::Kind::Flow) {
      if (flows_[flow].start_ns == kNever)
        start_flow(flow);
    } else if (flow == kNone || !operation.amount) { // inside a host, or nothing
      run.progress.complete(now_, next);
      run.progress.sent(now_, next);
    } else {
      post(flow, next, operation.amount);
    }
  }
  if (const uint64_t wake = run.progress.wake_at(); wake < run.wake || run.wake <= now_) {
    run.wake = wake;
    if (wake != kNever)
      at(wake, Action::Kind::Job, number);
  }
  if (scenario_.until_done && run.progress.done())
    end_if_done();
}

void World::post(uint32_t number, uint32_t operation, uint64_t bytes) {
  FlowRun &run = flows_[number];
  run.posted->left--;
  run.posted->incomplete.push(operation);
  run.posted->unsent.push(operation);
  if (fluid_)
    return begin_fluid(number, bytes);
  if (!run.source)
    start_flow(number);
  static_cast<requester::ReliableSource &>(*run.source).post(now_, 0, bytes);
  part_at_now(hosts_[run.src].part).go_on_sending(number);
}

// The receiver has further messages of the flow.
void World::messages_arrived(FlowRun &run, uint64_t messages) {
  if (run.posted) {
    JobRun &job = *jobs_[run.posted->job];
    for (; messages && !run.posted->incomplete.empty(); messages--) {
      const uint32_t operation = run.posted->incomplete.front();
      run.posted->incomplete.pop();
      job.progress.complete(now_, operation);
    }
    return go_on_with(run.posted->job);
  }
  run.messages_arrived += messages;
  const flow::Flow &flow = run.setup->flow;
  if (flow.messages && run.messages_arrived == flow.messages * flow.qps) {
    jobs_[run.job]->progress.complete(now_, run.operation);
    go_on_with(run.job);
  }
}

// The sender knows that further messages have arrived.
void World::messages_sent(uint32_t number) {
  FlowRun &run = flows_[number];
  FlowRun::Posted &posted = *run.posted;
  const uint64_t all = run.source->counts().messages;
  if (posted.sent == all)
    return;
  const uint32_t job = posted.job;
  for (; posted.sent < all; posted.sent++) {
    const uint32_t operation = posted.unsent.front();
    posted.unsent.pop();
    jobs_[job]->progress.sent(now_, operation);
  }
  if (!posted.left && posted.unsent.empty())
    parts_.front()->finish_flow(number);
  go_on_with(job);
}

// A flow that others wait for has ended.
void World::flow_ended(const FlowRun &run) {
  JobRun &job = *jobs_[run.job];
  if (!run.end_ns)
    return; // it failed, or lost packets: what waits for it does not start
  if (!run.reliable || run.reads)
    job.progress.complete(now_, run.operation);
  job.progress.sent(now_, run.operation);
  go_on_with(run.job);
}

// The links that the flow's frames pass, and the longest of their queues.
void World::fill_links(uint32_t flow, progress::Way &way) const {
  uint64_t most = 0;
  for (const uint32_t wire : path_of(flows_[flow], flow_for(flow))) {
    const auto &port = *ports_[wire];
    const uint64_t rate = port.link.spec().rate; // 0: it follows a trace
    way.links.push_back({wire, rate ? 8e9 / static_cast<double>(rate) : 0, port.busy_ns()});
    const uint64_t bytes = port.link.totals().backlog_most;
    if (port.from >= network_.hosts && bytes > most) {
      most = bytes;
      way.longest = wire;
      way.queue = network_.queue_name(wire);
    }
  }
}

void World::measure_jobs(std::vector<ExperimentJob> &rows) const {
  for (const auto &run : jobs_) {
    if (run->job.name.empty()) // flows that start after others
      continue;
    std::map<std::pair<uint32_t, uint64_t>, progress::Way> known; // by flow and bytes
    const auto way_of = [&](uint32_t operation) {
      const uint32_t flow = run->flows[operation];
      if (flow == kNone)
        return progress::Way{};
      const uint64_t bytes = run->job.operations[operation].amount;
      const auto [entry, added] = known.try_emplace({flow, bytes});
      if (added) {
        entry->second.idle_ns = message_ns(flow, bytes);
        entry->second.sent_again = flows_[flow].counts.retransmitted > 0;
        fill_links(flow, entry->second);
      }
      return entry->second;
    };
    rows.push_back(progress::summarise(run->progress, way_of, medium_ ? kLeastOfMedium : kLeast));
  }
}

void World::end_if_done() {
  for (const auto &job : jobs_)
    if (!job->progress.done())
      return;
  scenario_.duration_ns = now_;
}

} // namespace xr::simulate
