//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/** Caffeine's half of cache-bench: reads commands from standard input, answers each with a line. */
public final class CaffeineBench {
  private static final int COUNT = 1 << 20;
  private static volatile boolean stop;

  /** The keys that a thread brings, in their order. */
  private static final class Stream {
    Object[] gets = new Object[COUNT];
    Object[] sets = gets;
  }

  private static final class Prepared {
    Cache<Object, Object> cache;
    Stream[] streams;
    boolean mustHit;
  }

  private static final Map<String, Prepared> prepared = new HashMap<>();
  private static final Map<Integer, Object[]> keysOf = new HashMap<>();
  private static final Map<String, Stream[]> streamsOf = new HashMap<>();

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      switch (words[0]) {
        case "prepare":
          prepared.put(words[1], prepare(words));
          System.out.println("ok");
          break;
        case "run":
          System.out.println(run(words));
          break;
        case "bytes":
          System.out.println(bytesPerEntry(Integer.parseInt(words[1])));
          break;
        default:
          System.out.println("?");
      }
    }
    System.exit(0);
  }

  private static long mix(long z) {
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** prepare NAME integer|string zipf|uniform KEYS LIMIT STREAMS */
  private static Prepared prepare(String[] words) {
    boolean strings = words[2].equals("string");
    boolean uniform = words[3].equals("uniform");
    int count = Integer.parseInt(words[4]);
    int limit = Integer.parseInt(words[5]);
    Prepared result = new Prepared();
    result.mustHit = limit == 0;
    Caffeine<Object, Object> builder = Caffeine.newBuilder();
    // Without a limit Caffeine keeps no order at all; a limit that is never reached makes it a cache.
    builder.maximumSize(limit == 0 ? 2L * count : limit);
    result.cache = builder.build();
    Object[] keys = keysOf.computeIfAbsent(count, number -> {
      Object[] made = new Object[number];
      for (int rank = 0; rank < number; rank++) made[rank] = key(rank, strings);
      return made;
    });
    for (int rank = (limit == 0 ? count : limit) - 1; rank >= 0; rank--) result.cache.put(keys[rank], keys[rank]);
    result.cache.cleanUp();
    int streams = Integer.parseInt(words[6]);
    result.streams =
        streamsOf.computeIfAbsent(words[3] + count, kind -> streams(count, uniform, streams, keys, strings));
    return result;
  }

  private static Object key(int rank, boolean string) {
    long number = mix(rank + 0x12345678L);
    if (!string) return number;
    String digits = Long.toHexString(number);
    return "user:" + "0".repeat(16 - digits.length()) + digits;
  }

  /** A string with bytes of its own, which `new String(text)` does not have. */
  private static String copy(Object text) { return new String(((String) text).toCharArray()); }

  private static Stream[] streams(int keys, boolean uniform, int count, Object[] shared, boolean strings) {
    double[] sums = new double[keys];
    double sum = 0;
    for (int rank = 1; rank <= keys; rank++) {
      sum += 1 / Math.pow(rank, 0.99);
      sums[rank - 1] = sum;
    }
    Stream[] streams = new Stream[count];
    for (int index = 0; index < count; index++) {
      Stream stream = streams[index] = new Stream();
      // Strings are made by each thread for its calls: no cache and no other thread holds them.
      Object[] gets = strings ? new Object[keys] : shared;
      Object[] sets = strings ? new Object[keys] : shared;
      if (strings) stream.sets = new Object[COUNT];
      long state = keys + index;
      for (int i = 0; i < COUNT; i++) {
        state += 0x9E3779B97F4A7C15L;
        double share = (mix(state) >>> 11) * 0x1p-53;
        double target = share * sum;
        int low = uniform ? (int) (share * keys) : 0;
        int high = uniform ? low : keys - 1;
        while (low < high) {
          int middle = (low + high) >>> 1;
          if (sums[middle] < target) low = middle + 1; else high = middle;
        }
        if (gets[low] == null) {
          gets[low] = copy(shared[low]);
          sets[low] = copy(shared[low]);
        }
        stream.gets[i] = gets[low];
        stream.sets[i] = sets[low];
      }
    }
    return streams;
  }

  /** run NAME WRITES SETSMISSES THREADS MILLISECONDS */
  private static double run(String[] words) throws InterruptedException {
    Prepared state = prepared.get(words[1]);
    int writes = Integer.parseInt(words[2]);
    boolean setsMisses = Boolean.parseBoolean(words[3]);
    int threads = Integer.parseInt(words[4]);
    CountDownLatch ready = new CountDownLatch(threads);
    CountDownLatch go = new CountDownLatch(1);
    CountDownLatch done = new CountDownLatch(threads);
    AtomicLong total = new AtomicLong();
    stop = false;
    for (int thread = 0; thread < threads; thread++) {
      Stream stream = state.streams[thread];
      int start = thread << 16;
      new Thread(() -> {
        ready.countDown();
        try {
          go.await();
        } catch (InterruptedException error) {
          return;
        }
        total.addAndGet(loop(state, writes, setsMisses, stream, start));
        done.countDown();
      }).start();
    }
    ready.await();
    long begin = System.nanoTime();
    go.countDown();
    Thread.sleep(Integer.parseInt(words[5]));
    stop = true;
    done.await();
    return total.get() / ((System.nanoTime() - begin) / 1e9) / 1e6;
  }

  private static long loop(Prepared state, int writes, boolean setsMisses, Stream stream, int start) {
    Cache<Object, Object> cache = state.cache;
    Object[] gets = stream.gets;
    Object[] sets = stream.sets;
    int position = start;
    int due = 0;
    long count = 0;
    long found = 0;
    while (!stop) {
      for (int i = 0; i < 512; i++) {
        int index = position & (COUNT - 1);
        position++;
        due += writes;
        if (due >= 100) {
          due -= 100;
          cache.put(sets[index], sets[index]);
        } else if (cache.getIfPresent(gets[index]) != null) {
          found++;
        } else if (setsMisses) {
          cache.put(sets[index], sets[index]);
        }
      }
      count += 512;
    }
    if (state.mustHit && found != count) throw new IllegalStateException("a request that must hit has missed");
    return count;
  }

  private static double bytesPerEntry(int entries) throws InterruptedException {
    prepared.clear();
    keysOf.clear();
    streamsOf.clear();
    long before = used();
    Cache<Long, Long> cache = Caffeine.newBuilder().maximumSize(2L * entries).build();
    for (int rank = 0; rank < entries; rank++) cache.put(mix(rank + 0x12345678L), (long) rank << 20);
    cache.cleanUp();
    double bytes = (used() - before) / (double) entries;
    return cache.estimatedSize() == entries ? bytes : 0;
  }

  private static long used() throws InterruptedException {
    for (int i = 0; i < 4; i++) {
      System.gc();
      Thread.sleep(50);
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }
}
