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
  private static final int STREAMS = 4;
  private static volatile boolean stop;

  private static final class Prepared {
    Cache<Long, Long> cache;
    Long[][] streams;
    boolean mustHit;
  }

  private static final Map<String, Prepared> prepared = new HashMap<>();
  private static final Map<Integer, Long[]> boxesOf = new HashMap<>();
  private static final Map<Integer, Long[][]> streamsOf = new HashMap<>();

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      switch (words[0]) {
        case "prepare":
          prepared.put(words[1], prepare(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3])));
          System.out.println("ok");
          break;
        case "run":
          System.out.println(run(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3])));
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

  private static Prepared prepare(String workload, int keys, int limit) {
    Prepared result = new Prepared();
    result.mustHit = limit == 0;
    Caffeine<Object, Object> builder = Caffeine.newBuilder();
    // Without a limit Caffeine keeps no order at all; a limit that is never reached makes it a cache.
    builder.maximumSize(limit == 0 ? 2L * keys : limit);
    result.cache = builder.build();
    Long[] boxes = boxesOf.computeIfAbsent(keys, CaffeineBench::boxes);
    for (int rank = (limit == 0 ? keys : limit) - 1; rank >= 0; rank--) result.cache.put(boxes[rank], boxes[rank]);
    result.cache.cleanUp();
    result.streams = streamsOf.computeIfAbsent(keys, count -> streams(count, boxes));
    return result;
  }

  private static Long[] boxes(int keys) {
    Long[] boxes = new Long[keys];
    for (int rank = 0; rank < keys; rank++) boxes[rank] = mix(rank + 0x12345678L);
    return boxes;
  }

  private static Long[][] streams(int keys, Long[] boxes) {
    double[] sums = new double[keys];
    double sum = 0;
    for (int rank = 1; rank <= keys; rank++) {
      sum += 1 / Math.pow(rank, 0.99);
      sums[rank - 1] = sum;
    }
    Long[][] streams = new Long[STREAMS][COUNT];
    for (int stream = 0; stream < STREAMS; stream++) {
      long state = keys + stream;
      for (int i = 0; i < COUNT; i++) {
        state += 0x9E3779B97F4A7C15L;
        double target = (mix(state) >>> 11) * 0x1p-53 * sum;
        int low = 0;
        int high = keys - 1;
        while (low < high) {
          int middle = (low + high) >>> 1;
          if (sums[middle] < target) low = middle + 1; else high = middle;
        }
        streams[stream][i] = boxes[low];
      }
    }
    return streams;
  }

  private static double run(String workload, int threads, int milliseconds) throws InterruptedException {
    Prepared state = prepared.get(workload);
    CountDownLatch ready = new CountDownLatch(threads);
    CountDownLatch go = new CountDownLatch(1);
    CountDownLatch done = new CountDownLatch(threads);
    AtomicLong total = new AtomicLong();
    stop = false;
    for (int thread = 0; thread < threads; thread++) {
      Long[] stream = state.streams[thread];
      int start = thread << 16;
      new Thread(() -> {
        ready.countDown();
        try {
          go.await();
        } catch (InterruptedException error) {
          return;
        }
        total.addAndGet(loop(workload, state, stream, start));
        done.countDown();
      }).start();
    }
    ready.await();
    long begin = System.nanoTime();
    go.countDown();
    Thread.sleep(milliseconds);
    stop = true;
    done.await();
    return total.get() / ((System.nanoTime() - begin) / 1e9) / 1e6;
  }

  private static long loop(String workload, Prepared state, Long[] keys, int start) {
    Cache<Long, Long> cache = state.cache;
    int position = start;
    long count = 0;
    long found = 0;
    boolean sets = workload.equals("get-or-set");
    boolean mixed = workload.equals("50/50");
    while (!stop) {
      for (int i = 0; i < 512; i++) {
        Long key = keys[position & (COUNT - 1)];
        position++;
        if (mixed && (position & 1) == 0) {
          cache.put(key, key);
        } else if (cache.getIfPresent(key) != null) {
          found++;
        } else if (sets) {
          cache.put(key, key);
        }
      }
      count += 512;
    }
    if (state.mustHit && found != count) throw new IllegalStateException("a request that must hit has missed");
    return count;
  }

  private static double bytesPerEntry(int entries) throws InterruptedException {
    prepared.clear();
    boxesOf.clear();
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
