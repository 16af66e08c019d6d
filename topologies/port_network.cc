#include "topologies/port_network.h"

#include "topologies/fabric_builder.h"

namespace topologies {

void SwitchNetwork::AddElements(FabricBuilder* builder) {
  switch_ = builder->Add(VertexKind::kSwitch, "switch");
}

}  // namespace topologies
