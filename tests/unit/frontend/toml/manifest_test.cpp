/// \file What manifests mean, and where their mistakes are.
#include "frontend/toml/manifest.hpp"

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace baleen {
namespace {

Manifest good(std::string_view text) {
  auto manifest = parse_manifest(text, "/etc/c.toml");
  EXPECT_TRUE(manifest) << manifest.error().text();
  return manifest ? *std::move(manifest) : Manifest();
}

std::string bad(std::string_view text) {
  const auto manifest = parse_manifest(text, "c.toml");
  if (manifest) return "accepted";
  EXPECT_EQ(manifest.error().code, BALEEN_INVALID);
  return manifest.error().text();
}

TEST(Manifest, IsOneRankHereWhereThereIsNone) {
  const auto manifest = read_manifest({});
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->ranks(), 1);
  EXPECT_EQ(manifest->hosts.at(0).name, "localhost");
  EXPECT_TRUE(manifest->mesh.empty());
  EXPECT_TRUE(manifest->compute.plugin.empty());
  EXPECT_FALSE(manifest->plan);
}

TEST(Manifest, ReadsTwoTransportsWithTheirOptions) {
  const Manifest manifest = good(R"(
[cluster]
hosts = [{ name = "a", ranks = 4 }, { name = "b", ranks = 4, transport = { devices = ["eth1"] } }]
[mesh]
data = 8
[transport]
inside = "./mine.so"
ranks_per_host = 2
[transport.between]
plugin = "wide"
devices = ["eth0"]
)");
  EXPECT_TRUE(manifest.transport.plugin.empty());
  const UserValues& options = manifest.transport.options;
  EXPECT_EQ(std::get<std::string>(options.at("inside").data), "./mine.so");
  EXPECT_EQ(options.at("inside").key_where, "/etc/c.toml:7:1");
  EXPECT_EQ(std::get<std::int64_t>(options.at("ranks_per_host").data), 2);
  const auto& between = std::get<UserMember>(options.at("between").data);
  EXPECT_EQ(between.plugin, "wide");
  EXPECT_EQ(options.at("between").where, "/etc/c.toml:10:10");
  EXPECT_EQ(std::get<std::vector<std::string>>(between.options->at("devices").data), std::vector<std::string>{"eth0"});
  EXPECT_TRUE(manifest.on_host(0).transport.host_options.empty());
  EXPECT_EQ(std::get<std::vector<std::string>>(manifest.on_host(1).transport.host_options.at("devices").data),
            std::vector<std::string>{"eth1"});
}

TEST(Manifest, ReadsTransportsWithinTransports) {
  const Manifest manifest =
      good("[transport]\nbetween = { plugin = \"a\", inside = { plugin = \"./b.so\", x = 1 } }\n");
  const auto& outer = std::get<UserMember>(manifest.transport.options.at("between").data);
  const auto& inner = std::get<UserMember>(outer.options->at("inside").data);
  EXPECT_EQ(inner.plugin, "/etc/b.so");
  EXPECT_EQ(inner.options->at("x").data, UserValue::Data(std::int64_t{1}));
  EXPECT_EQ(bad("[transport]\nx = { y = 1 }"), "c.toml:2:5: `x` needs a `plugin`");
}

TEST(Manifest, ReadsWhetherSumsAreAlikeInEveryRun) {
  EXPECT_TRUE(good("").deterministic);
  const Manifest manifest = good("[transport]\ndeterministic = false\nplugin = \"x\"\n");
  EXPECT_FALSE(manifest.deterministic);
  EXPECT_EQ(manifest.deterministic_where, "/etc/c.toml:2:17");
  EXPECT_TRUE(manifest.transport.options.empty());
  EXPECT_EQ(bad("[transport]\ndeterministic = 1"),
            "c.toml:2:17: `deterministic` must be true or false, not an integer");
}

constexpr const char* kTwoHosts = R"(
[cluster]
port = 7373
listen = "0.0.0.0"
start = ["rsh", "{name}"]
wait = 30
hosts = [{ name = "a", ranks = 1, address = "10.0.0.1" },
         { name = "b", ranks = 2, cores = "0-3,8", compute = { threads = 3 }, transport = { device = "ib1" } }]
[mesh]
data = 3
[compute]
threads = 2
[transport]
device = "ib0"
deep = true
)";

TEST(Manifest, ReadsHowHostsMeet) {
  const Manifest manifest = good(kTwoHosts);
  EXPECT_EQ(manifest.ranks(), 3);
  const UserValues& launcher = manifest.launcher.options;
  EXPECT_EQ(std::get<std::int64_t>(launcher.at("port").data), 7373);
  EXPECT_EQ(std::get<std::string>(launcher.at("listen").data), "0.0.0.0");
  EXPECT_EQ(std::get<std::vector<std::string>>(launcher.at("start").data), (std::vector<std::string>{"rsh", "{name}"}));
  EXPECT_EQ(std::get<std::int64_t>(launcher.at("wait").data), 30);
  EXPECT_EQ(manifest.hosts[0].address, "10.0.0.1");
  EXPECT_EQ(manifest.hosts[1].address, "");
  EXPECT_EQ(manifest.hosts[1].cores, "0-3,8");
}

TEST(Manifest, ReadsWhatStartsTheRanks) {
  const Manifest manifest = good("[launcher]\nplugin = \"x\"\nfolder = \"jobs\"\n[mesh]\ndata = 2\n");
  EXPECT_EQ(manifest.launcher.plugin, "x");
  EXPECT_EQ(std::get<std::string>(manifest.launcher.options.at("folder").data), "jobs");
  EXPECT_FALSE(manifest.names_hosts);
  EXPECT_EQ(manifest.ranks(), 2);
  EXPECT_TRUE(good(kTwoHosts).names_hosts);
}

TEST(Manifest, KeepsHowHostsMeetBesideTheLaunchersOwnOptions) {
  const Manifest manifest = good(std::string(kTwoHosts) + "[launcher]\nplugin = \"x\"\ntls = 3\n");
  EXPECT_EQ(manifest.launcher.plugin, "x");
  EXPECT_EQ(std::get<std::int64_t>(manifest.launcher.options.at("tls").data), 3);
  EXPECT_EQ(std::get<std::int64_t>(manifest.launcher.options.at("port").data), 7373);
}

TEST(Manifest, HoldsAHostsOwnOptionsAboveAllOthers) {
  const Manifest manifest = good(kTwoHosts);
  const Manifest a = manifest.on_host(0), b = manifest.on_host(1);
  EXPECT_EQ(std::get<std::int64_t>(a.compute.options.at("threads").data), 2);
  EXPECT_EQ(std::get<std::int64_t>(b.compute.options.at("threads").data), 3);
  EXPECT_EQ(std::get<std::string>(a.transport.options.at("device").data), "ib0");
  EXPECT_EQ(std::get<std::string>(b.transport.host_options.at("device").data), "ib1");
  EXPECT_TRUE(a.transport.host_options.empty());
  EXPECT_TRUE(b.transport.options.contains("deep"));
}

TEST(Manifest, SaysTheSameInTheSameText) {
  const std::string one = good("[mesh]\n# two\ntensor = 2\ndata = 3\norder = ['data', 'tensor']").text;
  EXPECT_EQ(one, good("mesh = { data = 3, order = [\"data\", \"tensor\"], tensor = 2 }").text);
  EXPECT_EQ(one, "mesh.data = 3\nmesh.order[0] = 'data'\nmesh.order[1] = 'tensor'\nmesh.tensor = 2\n");
  EXPECT_NE(one, good("mesh = { data = 2, order = [\"data\", \"tensor\"], tensor = 3 }").text);
  EXPECT_NE(good(kTwoHosts).text.find("cluster.hosts[1].compute.threads = 3\n"), std::string::npos);
}

TEST(Manifest, RefusesMeetingsThatMakeNoSense) {
  const std::string two = "[cluster]\nhosts = [{ name = \"a\" }, { name = \"b\" }]\n";
  EXPECT_NE(bad(two + "port = 65536").find("c.toml:3:8: `port` must be from 1 to 65535, not 65536"), std::string::npos);
  EXPECT_NE(bad(two + "start = []").find("`start` holds no command"), std::string::npos);
  EXPECT_NE(bad(two + "start = \"ssh\"").find("`start` must be an array of strings"), std::string::npos);
  EXPECT_NE(bad(two + "wait = 0").find("`wait` must be from 1 to"), std::string::npos);
  EXPECT_NE(bad(two + "port = 1\n[launcher]\nport = 2").find("`port` stands in [cluster] and in [launcher]; leave out"),
            std::string::npos);
  EXPECT_NE(bad(two + "ports = 1").find("unknown key `ports`; did you mean `port`?"), std::string::npos);
  EXPECT_NE(
      bad("[cluster]\nhosts = [{ name = \"a\", core = \"0\" }]").find("unknown key `core`; did you mean `cores`?"),
      std::string::npos);
  EXPECT_NE(bad("[cluster]\nhosts = [{ name = \"a\", compute = { plugin = \"x\" } }]")
                .find("every host uses the same plugin; only its options may differ"),
            std::string::npos);
  EXPECT_EQ(bad("[cluster]\nport = 5"), "c.toml:2:1: `port` is for clusters of several hosts, and this one has one");
  EXPECT_EQ(bad("[cluster]\nhosts = [{ name = \"a\", address = \"10.0.0.1\" }]"),
            "c.toml:2:10: `address` is for clusters of several hosts, and this one has one");
}

TEST(Manifest, ReadsEverySection) {
  const Manifest manifest = good(R"(
[cluster]
hosts = [{ name = "a", ranks = 4 }, { name = "b", ranks = 4 }]
[mesh]
data = 2
tensor.row = 2
pipeline = 2
order = ["pipeline", "data", "tensor.row"]
[compute]
plugin = "device"
threads = 2
[transport]
plugin = "./my.so"
[monitors]
bar = { width = 40 }
file = true
other = false
[plugins]
paths = ["mine", "/opt/x.so"]
[memory]
activations_mb = 0.5
pinned_mb = 2
offload_mb = 3
device_mb = 1.5
[[offload]]
plugin = "far"
path = "there"
budget_mb = 0.25
[[offload]]
plugin = "farther"
[[plan]]
strategy = "split"
stage = 2
[[plan]]
strategy = "again"
)");
  EXPECT_EQ(manifest.ranks(), 8);
  EXPECT_EQ(manifest.offload.at(0).member.plugin, "far");
  EXPECT_EQ(manifest.offload.at(0).member.options.at("path").data, UserValue::Data(std::string("there")));
  EXPECT_FALSE(manifest.offload.at(0).member.options.contains("budget_mb")) << "no option of the member";
  ASSERT_TRUE(manifest.offload.at(0).budget.has_value());
  EXPECT_EQ(manifest.offload.at(0).budget->bytes, 1u << 18);
  EXPECT_EQ(manifest.offload.at(1).member.plugin, "farther");
  EXPECT_FALSE(manifest.offload.at(1).budget.has_value());
  EXPECT_EQ(manifest.offload.size(), 2u);
  ASSERT_TRUE(manifest.device.has_value());
  EXPECT_EQ(manifest.device->bytes, 3u << 19);
  ASSERT_TRUE(manifest.offloaded.has_value());
  EXPECT_EQ(manifest.offloaded->bytes, 3u << 20);
  ASSERT_EQ(manifest.mesh.size(), 3u);
  EXPECT_EQ(manifest.mesh[0].name, "pipeline");
  EXPECT_EQ(manifest.mesh[2].name, "tensor.row");
  EXPECT_EQ(manifest.compute.plugin, "device");
  EXPECT_EQ(manifest.compute.options.at("threads").data, UserValue::Data(std::int64_t{2}));
  EXPECT_EQ(manifest.compute.options.at("threads").where, "/etc/c.toml:11:11");
  EXPECT_EQ(manifest.transport.plugin, "/etc/my.so");
  ASSERT_EQ(manifest.monitors.size(), 3u);
  EXPECT_EQ(manifest.monitors[0].plugin, "bar");
  EXPECT_EQ(manifest.monitors[0].options.count("width"), 1u);
  EXPECT_TRUE(manifest.monitors[1].on);
  EXPECT_FALSE(manifest.monitors[2].on);
  ASSERT_EQ(manifest.plugin_paths.size(), 2u);
  EXPECT_EQ(manifest.plugin_paths[0].path, "/etc/mine");
  EXPECT_EQ(manifest.plugin_paths[1].path, "/opt/x.so");
  EXPECT_EQ(manifest.plugin_paths[1].where, "/etc/c.toml:19:18");
  ASSERT_TRUE(manifest.activations);
  EXPECT_EQ(manifest.activations->bytes, 1u << 19);
  EXPECT_EQ(manifest.activations->where, "/etc/c.toml:21:18");
  ASSERT_TRUE(manifest.pinned);
  EXPECT_EQ(manifest.pinned->bytes, 2u << 20);
  EXPECT_EQ(manifest.pinned->where, "/etc/c.toml:22:13");
  ASSERT_TRUE(manifest.plan);
  ASSERT_EQ(manifest.plan->size(), 2u);
  EXPECT_EQ(manifest.plan->at(0).plugin, "split");
  EXPECT_EQ(manifest.plan->at(0).options.count("stage"), 1u);
  EXPECT_EQ(manifest.folder(), "/etc");
}

TEST(Manifest, ReadsValuesOfEveryType) {
  const Manifest manifest = good(R"([compute]
flag = true
number = 0.5
word = "w"
words = ["a", "b"]
row = [1, 2.5]
rows = [[1, 2], [3, 4], [5, 6]]
)");
  const UserValues& options = manifest.compute.options;
  EXPECT_EQ(options.at("flag").data, UserValue::Data(true));
  EXPECT_EQ(options.at("number").data, UserValue::Data(0.5));
  EXPECT_EQ(options.at("word").data, UserValue::Data(std::string("w")));
  EXPECT_EQ(options.at("words").data, UserValue::Data(std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.at("row").data, UserValue::Data(NumberTable{{1, 2.5}, 1, 2}));
  EXPECT_EQ(options.at("rows").data, UserValue::Data(NumberTable{{1, 2, 3, 4, 5, 6}, 3, 2}));
}

/// Whole numbers above 2^53, of which a double has only some.
TEST(Manifest, ReadsWholeNumbersThatNoDoubleHas) {
  const Manifest manifest = good("[compute]\nrow = [9007199254740993, -9223372036854775807]\n");
  EXPECT_EQ(manifest.compute.options.at("row").data,
            UserValue::Data(NumberTable{{9007199254740992.0, -9223372036854775808.0}, 1, 2}));
  EXPECT_EQ(bad("[memory]\ndevice_mb = 9007199254740993"),
            "c.toml:2:13: `device_mb` must be a number of MiB above 0 and up to 1e+09, not 9007199254740992");
}

TEST(Manifest, RefusesValuesThatNoOptionTakes) {
  EXPECT_EQ(bad("[compute]\nx = [[1, 2], [3]]"),
            "c.toml:2:5: `x` has rows of 2 and of 1 numbers; all must be of one length");
  EXPECT_NE(bad("[compute]\nx = [1, \"a\"]").find("`x` mixes types"), std::string::npos);
  EXPECT_EQ(bad("[compute]\nx = { y = 1 }"), "c.toml:2:5: `x` is a table, which no option takes");
  EXPECT_EQ(bad("[compute]\nx = 2024-01-01"), "c.toml:2:5: `x` is a date or time, which no option takes");
}

TEST(Manifest, NamesThePlaceOfASyntaxError) {
  EXPECT_TRUE(bad("[mesh\ndata = 2").starts_with("c.toml:1:")) << bad("[mesh\ndata = 2");
  EXPECT_NE(bad("[mesh]\ndata = = 2").find("c.toml:2:8: syntax error: "), std::string::npos)
      << bad("[mesh]\ndata = = 2");
}

/// Where toml++ takes for impossible what is there.
TEST(Manifest, RefusesKeysThatNobodyWouldWrite) {
  const std::string brace = bad("[[{ a]]\nplugin = \"x\""), letter = bad("[compute]\nü = 1");
  EXPECT_TRUE(brace.starts_with("c.toml:1:3: syntax error: ")) << brace;
  EXPECT_TRUE(letter.starts_with("c.toml:2:1: syntax error: ")) << letter;
  EXPECT_EQ(good("[compute]\nplugin = \"ü\" # ö\n").compute.plugin, "ü");
}

/// Freeing the tables of such a key took more stack than there is.
TEST(Manifest, RefusesAKeyWithoutAnEnd) {
  const auto key = [](int parts, const std::string& part) {
    std::string text = part;
    for (int i = 1; i < parts; ++i) text += "." + part;
    return text;
  };
  for (const char* part : {"a", "\"b,=\"", "'c' "}) {
    EXPECT_EQ(bad("[compute]\n" + key(100'000, part) + " = 1"), "c.toml: syntax error: a key of more than 1000 parts");
    EXPECT_EQ(bad("[" + key(100'000, part) + "]"), "c.toml: syntax error: a key of more than 1000 parts");
    EXPECT_EQ(bad("[compute]\n" + key(900, part) + " = 1").find("c.toml:2:1: `"), 0u) << "it is read";
  }
  std::string numbers = "[compute]\nrow = [1.5";
  for (int i = 0; i < 5'000; ++i) numbers += ", 2.5";
  EXPECT_EQ(std::get<NumberTable>(good(numbers + "]").compute.options.at("row").data).columns, 5'001);
  const std::string set = "compute." + key(5'000, "a") + "=1";
  const auto refused = parse_manifest("", "c.toml", std::vector{set});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "syntax error: a key of more than 1000 parts");
}

TEST(Manifest, SaysOnceThatSyntaxIsWrong) {
  EXPECT_EQ(bad("[mesh\ndata = 2"), "c.toml:1:6: syntax error: expected ']', saw '\\n'");
  EXPECT_EQ(bad("[mesh]\ndata = [1, 2"), "c.toml:2:13: syntax error: the text ends within the array");
  EXPECT_EQ(bad("[compute]\nplugin = \"x"), "c.toml:2:12: syntax error: the text ends within the string");
  EXPECT_EQ(bad("a = 1\na = 2"), "c.toml:2:5: syntax error: cannot redefine existing integer 'a'");
}

TEST(Manifest, RefusesUnknownKeys) {
  EXPECT_EQ(bad("\n[tranport]\nplugin = \"x\""), "c.toml:2:2: unknown key `tranport`; did you mean `transport`?");
  EXPECT_EQ(bad("[cluster]\nhost = []"), "c.toml:2:1: unknown key `host`; did you mean `hosts`?");
  EXPECT_EQ(bad("[cluster]\nhosts = [{ name = \"a\", rank = 2 }]"),
            "c.toml:2:24: unknown key `rank`; did you mean `ranks`?");
  EXPECT_EQ(bad("[plugins]\npath = []"), "c.toml:2:1: unknown key `path`; did you mean `paths`?");
}

TEST(Manifest, RefusesWrongTypes) {
  EXPECT_EQ(bad("compute = \"x\""), "c.toml:1:11: `compute` must be a table, not a string");
  EXPECT_EQ(bad("[compute]\nplugin = 3"), "c.toml:2:10: `plugin` must be a string, not an integer");
  EXPECT_EQ(bad("[mesh]\ndata = \"2\""), "c.toml:2:8: `data` must be a whole number, not a string");
  EXPECT_EQ(bad("[mesh]\ndata = 2.0"), "c.toml:2:8: `data` must be a whole number, not a number");
  EXPECT_EQ(bad("[monitors]\nx = 3"), "c.toml:2:5: `x` must be a table of options, true or false, not an integer");
  EXPECT_EQ(bad("[cluster]\nhosts = \"a\""), "c.toml:2:9: `hosts` must be an array of hosts, not a string");
  EXPECT_EQ(bad("plan = 3"), "c.toml:1:8: `plan` must be an array of tables, each [[plan]], not an integer");
}

TEST(Manifest, RefusesHostsThatMakeNoSense) {
  EXPECT_EQ(bad("[cluster]\nhosts = []"), "c.toml:2:9: `hosts` names no host");
  EXPECT_EQ(bad("[cluster]\nhosts = [{ ranks = 1 }]"), "c.toml:2:10: a host needs a `name`");
  EXPECT_NE(bad("[cluster]\nhosts = [{ name = \"a\" }, { name = \"a\" }]").find("stands here twice"),
            std::string::npos);
  EXPECT_NE(bad("[cluster]\nhosts = [{ name = \"a\", ranks = 0 }]").find("`ranks` must be from 1 to"),
            std::string::npos);
}

TEST(Manifest, WantsAnOrderForSeveralAxes) {
  EXPECT_EQ(bad("[mesh]\na = 2\nb = 2"),
            "c.toml:1:1: a mesh of several axes needs `order`, outermost axis first, as in order = [\"a\", \"b\"]");
  EXPECT_EQ(bad("[mesh]\na = 2\nb = 2\norder = [\"a\"]"), "c.toml:4:9: `order` lacks the axis `b`");
  EXPECT_EQ(bad("[mesh]\na = 2\nb = 2\norder = [\"a\", \"b\", \"a\"]"), "c.toml:4:20: axis `a` twice");
  EXPECT_EQ(bad("[mesh]\ndata = 2\nb = 2\norder = [\"dat\", \"b\"]"),
            "c.toml:4:10: unknown axis `dat`; did you mean `data`?");
}

TEST(Manifest, KeepsTheVirtualAxisForThePlan) {
  EXPECT_NE(bad("[mesh]\nmicro = 2").find("the axis `micro` is made by the plan"), std::string::npos);
}

TEST(Manifest, LetsHostsAndMeshAgree) {
  EXPECT_EQ(good("[mesh]\ndata = 4").ranks(), 4);
  EXPECT_EQ(bad("[cluster]\nhosts = [{ name = \"a\", ranks = 3 }]\n[mesh]\ndata = 4"),
            "c.toml:3:1: the mesh has 4 ranks, but the hosts have 3 ranks; make them equal");
  EXPECT_EQ(bad("[cluster]\nhosts = [{ name = \"a\", ranks = 3 }]"),
            "c.toml:2:10: the hosts have 3 ranks, but there is no [mesh]; name an axis of that size there");
  EXPECT_NE(bad("[mesh]\na = 1000000\nb = 1000000\norder = [\"a\", \"b\"]").find("more than"), std::string::npos);
}

TEST(Manifest, IsReadFromAFile) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("c.toml", "[compute]\nplugin = \"x\"\n");
  const auto manifest = read_manifest(file);
  ASSERT_TRUE(manifest) << manifest.error().text();
  EXPECT_EQ(manifest->compute.where, file + ":2:10");
  EXPECT_EQ(manifest->folder(), folder.path());
  EXPECT_EQ(read_manifest(folder / "absent.toml").error().text(), folder / "absent.toml" + ": no such manifest");
  EXPECT_EQ(read_manifest(folder.path()).error().text(), folder.path() + ": not a file");
}

}  // namespace
}  // namespace baleen
