package signalbox;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * The word count of ../figures/word-count.mjs in Java: the same lines, streams, groupings and numbers of tasks, and a spout with
 * the same pace, which leaves the same files.
 *
 * <p>Arguments: the name of the topology, the folder of the files, the milliseconds to get warm and those that are measured, the
 * number of lines that are emitted alone, the tuples pending at most, and the tasks of each bolt.
 */
public final class JavaWordCount {
  private static final int WORDS_OF_A_LINE = 10;
  private static final int DIFFERENT = 50;

  private JavaWordCount() {}

  public static void main(String[] args) throws Exception {
    String folder = args[1];
    int tasks = Integer.parseInt(args[6]);
    TopologyBuilder builder = new TopologyBuilder();
    builder.setSpout(
        "lines",
        new Lines(folder, Long.parseLong(args[2]), Long.parseLong(args[3]), Integer.parseInt(args[4])));
    builder.setBolt("split", new Split(), tasks).shuffleGrouping("lines", "lines");
    builder
        .setBolt("count", new Count(folder), tasks)
        .fieldsGrouping("split", "words", new Fields("word"))
        .allGrouping("lines", "end");
    Config config = new Config();
    config.setNumWorkers(1);
    config.setNumAckers(1);
    config.setMaxSpoutPending(Integer.parseInt(args[5]));
    StormSubmitter.submitTopology(args[0], config, builder.createTopology());
  }

  /** A file is there as a whole, or not at all. */
  private static void write(String folder, String name, String text) {
    try {
      Path part = Files.writeString(Path.of(folder, name + ".part"), text);
      Files.move(part, Path.of(folder, name), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** The pace of ../figures/pace.mjs. */
  public static final class Lines extends BaseRichSpout {
    private static final long LAST = -1;
    private static final double NANOS_OF_A_MILLI = 1e6;

    private enum Phase {
      LOAD,
      DRAIN,
      ALONE,
      OVER
    }

    private record Seen(long acked, double ms) {
      String json() {
        return "{\"acked\":" + acked + ",\"ms\":" + ms + "}";
      }
    }

    private final String folder;
    private final long warmMs;
    private final long loadMs;
    private final int lonely;
    private transient SpoutOutputCollector collector;
    private transient String[] texts;
    private transient Map<Long, Double> inFlight;
    private transient List<Double> aloneMs;
    private transient Phase phase;
    private transient double began;
    private transient Seen from;
    private transient Seen to;
    private transient long emitted;
    private transient long acked;
    private transient long failed;
    private transient long strange;

    Lines(String folder, long warmMs, long loadMs, int lonely) {
      this.folder = folder;
      this.warmMs = warmMs;
      this.loadMs = loadMs;
      this.lonely = lonely;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
      collector = out;
      texts = new String[DIFFERENT];
      for (int line = 0; line < DIFFERENT; line++) {
        List<String> words = new ArrayList<>();
        for (int at = 0; at < WORDS_OF_A_LINE; at++) words.add("word" + (line * 7 + at * 3) % DIFFERENT);
        texts[line] = String.join(" ", words);
      }
      inFlight = new HashMap<>();
      aloneMs = new ArrayList<>();
      phase = Phase.LOAD;
      began = -1;
    }

    @Override
    public void nextTuple() {
      if (phase == Phase.LOAD) {
        emit();
      } else if (phase != Phase.OVER && inFlight.isEmpty()) {
        phase = aloneMs.size() < lonely ? Phase.ALONE : Phase.OVER;
        if (phase == Phase.ALONE) emit();
        else collector.emit("end", new Values(""), LAST);
      }
    }

    private void emit() {
      long id = emitted++;
      inFlight.put(id, now());
      collector.emit("lines", new Values(texts[(int) (id % DIFFERENT)]), id);
    }

    private static double now() {
      return System.nanoTime() / NANOS_OF_A_MILLI;
    }

    @Override
    public void ack(Object id) {
      if (id.equals(LAST)) {
        leave();
        return;
      }
      double now = now();
      Double since = inFlight.remove(id);
      if (since == null) strange++;
      acked++;
      if (phase == Phase.LOAD) {
        if (began < 0) began = now;
        if (from == null) {
          if (now >= began + warmMs) from = note("from", now);
        } else if (now >= from.ms + loadMs) {
          to = note("to", now);
          phase = Phase.DRAIN;
        }
      } else if (phase == Phase.ALONE) {
        aloneMs.add(now - since);
      }
    }

    @Override
    public void fail(Object id) {
      failed++;
    }

    private Seen note(String name, double now) {
      write(folder, name, "");
      return new Seen(acked, now);
    }

    private void leave() {
      String counts =
          "{\"emitted\":%d,\"acked\":%d,\"failed\":%d,\"strange\":%d".formatted(emitted, acked, failed, strange);
      write(
          folder, "seen", counts + ",\"from\":" + from.json() + ",\"to\":" + to.json() + ",\"aloneMs\":" + aloneMs + "}");
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
      declarer.declareStream("lines", new Fields("text"));
      declarer.declareStream("end", new Fields("word"));
    }
  }

  /** Emits each word of a line. */
  public static final class Split extends BaseRichBolt {
    private transient OutputCollector collector;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
      collector = out;
    }

    @Override
    public void execute(Tuple line) {
      for (String word : line.getString(0).split(" ")) collector.emit("words", line, new Values(word));
      collector.ack(line);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
      declarer.declareStream("words", new Fields("word"));
    }
  }

  /** Counts words, and writes its counts in the end. */
  public static final class Count extends BaseRichBolt {
    private final String folder;
    private transient OutputCollector collector;
    private transient Map<String, Long> counts;
    private transient String file;

    Count(String folder) {
      this.folder = folder;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
      collector = out;
      counts = new HashMap<>();
      file = "counts-" + context.getThisTaskIndex();
    }

    @Override
    public void execute(Tuple tuple) {
      if (tuple.getSourceStreamId().equals("words")) counts.merge(tuple.getString(0), 1L, Long::sum);
      else write(folder, file, json());
      collector.ack(tuple);
    }

    private String json() {
      return counts.entrySet().stream()
          .map(one -> "[\"" + one.getKey() + "\"," + one.getValue() + "]")
          .collect(Collectors.joining(",", "[", "]"));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {}
  }
}
