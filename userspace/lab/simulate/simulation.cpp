// SPDX-License-Identifier: Apache-2.0
#include "simulate/simulation.h"

#include "simulate/world.h"

namespace xr::simulate {

struct Simulation::State {
  std::unique_ptr<World> world;
};

Simulation::Simulation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Simulation::~Simulation() = default;

Result<std::unique_ptr<Simulation>> Simulation::make(Scenario scenario) {
  auto world = XR_TRY(World::make(std::move(scenario)));
  auto state = std::make_unique<State>(State{std::move(world)});
  return std::unique_ptr<Simulation>(new Simulation(std::move(state)));
}

void Simulation::run_until(uint64_t ns) { state_->world->run_until(ns); }
uint64_t Simulation::now() const { return state_->world->now(); }
const std::string &Simulation::whole() const { return state_->world->whole(); }
bool Simulation::done() const { return now() >= state_->world->duration(); }
void Simulation::use(Medium &medium) { state_->world->use(medium); }
void Simulation::arrived(uint32_t wire, std::span<const uint8_t> frame) {
  state_->world->arrived(wire, frame);
}
const Carried &Simulation::carried() const { return state_->world->carried(); }
uint64_t Simulation::next_event() const { return state_->world->next_change(); }
const FrameTotals &Simulation::totals() const { return state_->world->totals(); }
std::vector<ExperimentSample> Simulation::take_samples() { return state_->world->take_samples(); }
ExperimentMeasurement Simulation::measure() { return state_->world->measure(); }
Status Simulation::close_captures() { return state_->world->close_captures(); }
const std::vector<std::string> &Simulation::flow_names() const { return state_->world->flow_names; }
const std::vector<std::string> &Simulation::queue_names() const {
  return state_->world->queue_names;
}

} // namespace xr::simulate
