// BBR against CUBIC over one bottleneck in ns-3 (3.37): two flows,
// FlowMonitor's XML and a capture at each receiver.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
using namespace ns3;
static Ptr<Node> MakeHost(const std::string &control)
{
	Ptr<Node> node = CreateObject<Node>();
	InternetStackHelper().Install(node);
	if (!control.empty())
		node->GetObject<TcpL4Protocol>()->SetAttribute(
		    "SocketType",
		    TypeIdValue(TypeId::LookupByName("ns3::Tcp" + control)));
	return node;
}
int main(int argc, char *argv[])
{
	uint32_t queue = 100, run = 1;
	double seconds = 60, from = 10;
	std::string out = ".";
	bool pcap = false;
	CommandLine cmd;
	cmd.AddValue("queue", "packets of the bottleneck's buffer", queue);
	cmd.AddValue("run", "number of the run", run);
	cmd.AddValue("seconds", "duration", seconds);
	cmd.AddValue("from", "when FlowMonitor begins", from);
	cmd.AddValue("out", "folder", out);
	cmd.AddValue("pcap", "write captures", pcap);
	cmd.Parse(argc, argv);
	RngSeedManager::SetRun(run);
	Config::SetDefault("ns3::PcapFileWrapper::CaptureSize",
			   UintegerValue(100));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
	Config::SetDefault("ns3::TcpSocket::SndBufSize",
			   UintegerValue(8 << 20));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize",
			   UintegerValue(8 << 20));
	Ptr<Node> left = MakeHost(""), right = MakeHost("");
	PointToPointHelper access, middle;
	access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
	access.SetChannelAttribute("Delay", StringValue("1ms"));
	access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
	middle.SetDeviceAttribute("DataRate", StringValue("20Mbps"));
	middle.SetChannelAttribute("Delay", StringValue("18ms"));
	middle.SetQueue("ns3::DropTailQueue", "MaxSize",
			StringValue(std::to_string(queue) + "p"));
	Ipv4AddressHelper address("10.1.0.0", "255.255.255.0");
	address.Assign(middle.Install(left, right));
	Ptr<UniformRandomVariable> spread =
	    CreateObject<UniformRandomVariable>();
	const char *controls[] = {"Bbr", "Cubic"};
	for (int i = 0; i < 2; i++) {
		Ptr<Node> source = MakeHost(controls[i]),
			  sink = MakeHost(controls[i]);
		NetDeviceContainer one = access.Install(source, left),
				   other = access.Install(right, sink);
		address.NewNetwork();
		address.Assign(one);
		address.NewNetwork();
		Ipv4InterfaceContainer far = address.Assign(other);
		uint16_t port = 5001 + i;
		BulkSendHelper bulk("ns3::TcpSocketFactory",
				    InetSocketAddress(far.GetAddress(1), port));
		bulk.SetAttribute("SendSize", UintegerValue(1448));
		ApplicationContainer sender = bulk.Install(source);
		sender.Start(Seconds(spread->GetValue(0, 1)));
		sender.Stop(Seconds(seconds));
		PacketSinkHelper("ns3::TcpSocketFactory",
				 InetSocketAddress(Ipv4Address::GetAny(), port))
		    .Install(sink)
		    .Start(Seconds(0));
		if (pcap)
			access.EnablePcap(out + "/queue-" +
					      std::to_string(queue) + "-run-" +
					      std::to_string(run) + "-" +
					      controls[i] + ".pcap",
					  other.Get(1), false, true);
	}
	// No queueing discipline in front of the drop-tail buffer, which alone
	// holds packets.
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();
	TrafficControlHelper none;
	for (uint32_t d = 0; d < left->GetNDevices(); d++)
		if (left->GetObject<TrafficControlLayer>()
			->GetRootQueueDiscOnDevice(left->GetDevice(d)))
			none.Uninstall(left->GetDevice(d));
	FlowMonitorHelper helper;
	helper.SetMonitorAttribute("StartTime", TimeValue(Seconds(from)));
	Ptr<FlowMonitor> monitor = helper.InstallAll();
	Simulator::Stop(Seconds(seconds));
	Simulator::Run();
	monitor->CheckForLostPackets();
	monitor->SerializeToXmlFile(out + "/queue-" + std::to_string(queue) +
					"-run-" + std::to_string(run) + ".xml",
				    true, false);
	Simulator::Destroy();
}
