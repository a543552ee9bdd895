package signalbox;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.shade.org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.storm.shade.org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.storm.spout.ShellSpout;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.IRichSpout;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Word counts of ours inside Apache Storm. Each is lines, split, count, and a tally in Java that writes down which word of
 * which line has come; the spout is in Java or ours, and the bolts are ours. What is done stands in files, since a worker
 * of Storm dies with a shell component that is killed, and with a LocalCluster that worker is this JVM: whoever started it
 * starts it again, as Storm's supervisor does.
 *
 * <p>Arguments: a directory, the number of lines, the word counts as `spout-mode` with commas between them, and the command
 * of our components, which is given the number of lines, the file of lines that are done, and the mode. Exits with 0 when
 * all lines of all word counts are done, with 3 when that took too long, and with 4 after an exception: threads of Storm and
 * of ZooKeeper would keep the JVM alive after either.
 */
public final class LocalStorm {
  private static final int WORDS_OF_A_LINE = 10;
  private static final int KILLS = 3;
  private static final int WORKER_DIED = 11;
  private static final int TOO_LONG = 3;
  private static final int FAILED = 4;
  private static final long LIMIT_MILLIS = 90_000;
  private static final long LIMIT_OF_KILLS_MILLIS = 60_000;

  /** One word count, and the files it leaves. */
  private record Count(String spout, String mode, int lines, String directory, List<String> command)
      implements Serializable {
    String name() {
      return spout + "-" + mode;
    }

    Path file(String name) {
      return Path.of(directory, name() + "." + name);
    }

    String[] program() {
      List<String> all = new ArrayList<>(command);
      all.addAll(List.of(String.valueOf(lines), file("acked").toString(), mode));
      return all.toArray(String[]::new);
    }

    Set<String> distinct(String name) {
      try {
        return Files.exists(file(name)) ? new HashSet<>(Files.readAllLines(file(name))) : Set.of();
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    void note(String name, Object line) {
      try {
        Files.writeString(file(name), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    /** Lines whose spout knows that they are done. A line that is just being written down is not whole yet. */
    int done() {
      int done = 0;
      Set<String> acked = distinct("acked");
      for (int line = 0; line < lines; line++) if (acked.contains(String.valueOf(line))) done++;
      return done;
    }

    StormTopology topology() {
      TopologyBuilder builder = new TopologyBuilder();
      if (spout.equals("ours")) builder.setSpout("lines", new OurSpout(program()));
      else builder.setSpout("lines", new Lines(this));
      builder
          .setBolt("split", new OurBolt("words", List.of("line", "at", "word"), program()), 2)
          .shuffleGrouping("lines", "lines");
      builder
          .setBolt("count", new OurBolt("counts", List.of("line", "at", "word", "count"), program()), 2)
          .fieldsGrouping("split", "words", new Fields("word"));
      builder.setBolt("tally", new Tally(this), 1).globalGrouping("count", "counts");
      return builder.createTopology();
    }
  }

  /** Emits each line, and again what failed. */
  public static final class Lines extends BaseRichSpout {
    private final Count count;
    private transient SpoutOutputCollector collector;
    private transient Queue<Integer> queue;

    Lines(Count count) {
      this.count = count;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
      this.collector = collector;
      queue = new ArrayDeque<>();
      Set<String> acked = count.distinct("acked");
      for (int line = 0; line < count.lines; line++)
        if (!acked.contains(String.valueOf(line))) queue.add(line);
    }

    @Override
    public void nextTuple() {
      Integer line = queue.poll();
      if (line == null) return;
      List<String> words = new ArrayList<>();
      for (int at = 0; at < WORDS_OF_A_LINE; at++) words.add("w" + (line * 7 + at * 3) % 50);
      collector.emit("lines", new Values(line, String.join(" ", words)), line);
    }

    @Override
    public void ack(Object id) {
      count.note("acked", id);
    }

    @Override
    public void fail(Object id) {
      count.note("failed", id);
      queue.add((Integer) id);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
      declarer.declareStream("lines", new Fields("line", "text"));
    }
  }

  public static final class OurSpout extends ShellSpout implements IRichSpout {
    OurSpout(String... command) {
      super(command);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
      declarer.declareStream("lines", new Fields("line", "text"));
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
      return null;
    }
  }

  public static final class OurBolt extends ShellBolt implements IRichBolt {
    private final String stream;
    private final List<String> fields;

    OurBolt(String stream, List<String> fields, String... command) {
      super(command);
      this.stream = stream;
      this.fields = fields;
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
      declarer.declareStream(stream, new Fields(fields));
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
      return null;
    }
  }

  /** Writes down which word of which line has come. */
  public static final class Tally extends BaseRichBolt {
    private final Count count;
    private transient OutputCollector collector;

    Tally(Count count) {
      this.count = count;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
      this.collector = collector;
    }

    @Override
    public void execute(Tuple tuple) {
      List<String> parts = new ArrayList<>();
      for (String field : List.of("line", "at", "word")) parts.add(String.valueOf(tuple.getValueByField(field)));
      count.note("words", String.join(" ", parts));
      collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {}
  }

  /** Kills one of our processes at each quarter of the lines, beginning after those of the lives before. */
  private static final class Killer {
    private final Count count;
    private final Random random = new Random();

    Killer(Count count) {
      this.count = count;
    }

    void look() throws InterruptedException {
      int killed = count.distinct("killed").size();
      if (killed >= KILLS || count.done() < count.lines * (killed + 1) / (KILLS + 1)) return;
      List<ProcessHandle> ours = ProcessHandle.current().children().filter(ProcessHandle::isAlive).toList();
      if (ours.isEmpty()) return;
      ProcessHandle victim = ours.get(random.nextInt(ours.size()));
      count.note("killed", victim.pid());
      victim.destroyForcibly();
      victim.onExit().join();
      // A worker ends with a shell component of its own. In local mode Storm leaves that to the next tuple for it, and
      // writes the same error to its log until then.
      Thread.sleep(20);
      Runtime.getRuntime().halt(WORKER_DIED);
    }
  }

  public static void main(String[] args) {
    // From the first moment: a cluster may stand still while it starts.
    long limit = args[2].contains("kills") ? LIMIT_OF_KILLS_MILLIS : LIMIT_MILLIS;
    Thread watchdog = new Thread(() -> haltAfter(limit), "watchdog");
    watchdog.setDaemon(true);
    watchdog.start();
    try {
      count(args);
      // An orderly shutdown takes Storm some five seconds. The end of its input ends a component of ours.
      Runtime.getRuntime().halt(0);
    } catch (Throwable error) {
      error.printStackTrace();
      Runtime.getRuntime().halt(FAILED);
    }
  }

  private static void haltAfter(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
    for (Map.Entry<Thread, StackTraceElement[]> thread : Thread.getAllStackTraces().entrySet())
      if (thread.getKey().getName().equals("main")) System.err.println("main stood at " + Arrays.toString(thread.getValue()));
    Runtime.getRuntime().halt(TOO_LONG);
  }

  /** Returns when all lines of all word counts are done. */
  private static void count(String[] args) throws Exception {
    String directory = args[0];
    int lines = Integer.parseInt(args[1]);
    List<String> command = Arrays.asList(args).subList(3, args.length);
    List<Count> counts = new ArrayList<>();
    for (String name : args[2].split(",")) {
      String[] parts = name.split("-");
      counts.add(new Count(parts[0], parts[1], lines, directory, List.copyOf(command)));
    }
    List<Killer> killers = counts.stream().filter(count -> count.mode.equals("kills")).map(Killer::new).toList();

    // Storm's own ZooKeeper would listen on all addresses.
    Path data = Files.createTempDirectory(Path.of(directory), "zookeeper");
    NIOServerCnxnFactory zookeeper = new NIOServerCnxnFactory();
    zookeeper.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    zookeeper.startup(new ZooKeeperServer(data.toFile(), data.toFile(), 2_000));

    LocalCluster cluster =
        new LocalCluster.Builder()
            .withPortsPerSupervisor(counts.size())
            .withDaemonConf(Config.STORM_ZOOKEEPER_SERVERS, List.of("127.0.0.1"))
            .withDaemonConf(Config.STORM_ZOOKEEPER_PORT, zookeeper.getLocalPort())
            .withDaemonConf(Config.STORM_LOCAL_HOSTNAME, "127.0.0.1")
            .withDaemonConf(Config.STORM_LOCAL_DIR, data.resolve("storm").toString())
            .build();
    for (Count count : counts) {
      Config conf = new Config();
      // What is lost with a worker comes again only when it has expired.
      conf.setMessageTimeoutSecs(count.mode.equals("kills") ? 5 : 30);
      conf.setMaxSpoutPending(20);
      conf.setNumWorkers(1);
      cluster.submitTopology(count.name(), conf, count.topology());
    }
    while (counts.stream().anyMatch(count -> count.done() < lines)) {
      Thread.sleep(50);
      for (Killer killer : killers) killer.look();
    }
  }
}
