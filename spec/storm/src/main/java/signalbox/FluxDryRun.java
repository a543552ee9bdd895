package signalbox;

import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.Thrift;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.flux.Flux;
import org.apache.storm.flux.FluxBuilder;
import org.apache.storm.flux.model.ExecutionContext;
import org.apache.storm.flux.model.TopologyDef;
import org.apache.storm.flux.parser.FluxParser;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.StreamInfo;
import org.apache.storm.grouping.PartialKeyGrouping;
import org.apache.storm.shade.net.minidev.json.JSONValue;
import org.apache.storm.spout.ShellSpout;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.Utils;
import org.apache.storm.validation.ConfigValidation;

/**
 * Reads Flux definitions as a submit does, without a cluster, and has Nimbus's checks look at each topology. Prints a line for each:
 * the topology that Flux has built, as JSON, with its components, tasks, streams and groupings.
 *
 * <p>Arguments: the files.
 */
public final class FluxDryRun {
  public static void main(String[] args) throws Exception {
    // Flux reads by the character set of this JVM, which is told to be ASCII; this output is UTF-8.
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String file : args) {
      Flux.main(new String[] {"--dry-run", "--no-splash", "--no-detail", file});
      TopologyDef definition = FluxParser.parseFile(file, false, true, null, false);
      Config conf = FluxBuilder.buildConfig(definition);
      StormTopology topology = FluxBuilder.buildTopology(new ExecutionContext(definition, conf));
      Map<String, Object> whole = new HashMap<>(Utils.readDefaultConfig());
      whole.putAll(conf);
      whole.values().removeIf(value -> value == null);
      ConfigValidation.validateFields(whole);
      Utils.validateTopologyName(definition.getName());
      StormCommon.systemTopology(whole, topology);

      Map<String, Object> built = new TreeMap<>();
      built.put("name", definition.getName());
      built.put("config", new TreeMap<>(conf));
      built.put("components", components(topology));
      out.println("built " + Path.of(file).getFileName() + " " + JSONValue.toJSONString(built));
    }
  }

  private static Map<String, Object> components(StormTopology topology) throws ReflectiveOperationException {
    Map<String, Object> components = new TreeMap<>();
    for (var spout : topology.get_spouts().entrySet())
      components.put(
          spout.getKey(), component("spout", spout.getValue().get_common(), spout.getValue().get_spout_object()));
    for (var bolt : topology.get_bolts().entrySet())
      components.put(bolt.getKey(), component("bolt", bolt.getValue().get_common(), bolt.getValue().get_bolt_object()));
    return components;
  }

  private static Map<String, Object> component(String kind, ComponentCommon common, ComponentObject object)
      throws ReflectiveOperationException {
    Map<String, Object> conf = new TreeMap<>();
    if (common.get_json_conf() != null) conf.putAll((Map<String, Object>) JSONValue.parse(common.get_json_conf()));
    Class<?> shell = kind.equals("spout") ? ShellSpout.class : ShellBolt.class;
    Object component = Utils.javaDeserialize(object.get_serialized_java(), Object.class);

    Map<String, Object> made = new TreeMap<>();
    made.put("kind", kind);
    made.put("executors", common.get_parallelism_hint());
    made.put("tasks", conf.remove(Config.TOPOLOGY_TASKS));
    made.put("command", Arrays.asList((String[]) read(shell, component, "command")));
    made.put("env", read(shell, component, "env"));
    made.put("conf", conf);
    Map<String, Object> streams = new TreeMap<>();
    for (Map.Entry<String, StreamInfo> stream : common.get_streams().entrySet())
      streams.put(stream.getKey(), stream.getValue().get_output_fields());
    made.put("streams", streams);
    Map<String, Object> inputs = new TreeMap<>();
    for (Map.Entry<GlobalStreamId, Grouping> input : common.get_inputs().entrySet())
      inputs.put(
          input.getKey().get_componentId() + "." + input.getKey().get_streamId(), grouping(input.getValue()));
    made.put("inputs", inputs);
    return made;
  }

  private static String grouping(Grouping grouping) throws ReflectiveOperationException {
    return switch (Thrift.groupingType(grouping)) {
      case FIELDS ->
          Thrift.isGlobalGrouping(grouping) ? "GLOBAL" : "FIELDS(" + String.join(", ", grouping.get_fields()) + ")";
      case CUSTOM_SERIALIZED -> {
        PartialKeyGrouping key =
            Utils.javaDeserialize(grouping.get_custom_serialized(), PartialKeyGrouping.class);
        Fields fields = (Fields) read(PartialKeyGrouping.class, key, "fields");
        yield "PARTIAL_KEY(" + String.join(", ", fields.toList()) + ")";
      }
      default -> Thrift.groupingType(grouping).name();
    };
  }

  private static Object read(Class<?> type, Object object, String name) throws ReflectiveOperationException {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(object);
  }
}
