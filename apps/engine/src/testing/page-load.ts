import type { CDPSession, Page } from "playwright-core";

/** What a page did to its main thread since it was last asked. */
interface MainThread {
  /** Tasks of over 50 ms, in milliseconds. */
  readonly longTasks: readonly number[];
  /** Pictures that were drawn, and those that were missed at 60 per second. */
  readonly frames: number;
  readonly droppedFrames: number;
}

/** Notes long tasks and missed frames in every page of a context from its next load on. */
export const NOTE_MAIN_THREAD = `
  globalThis.mainThread = { longTasks: [], frames: 0, droppedFrames: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) globalThis.mainThread.longTasks.push(Math.round(duration));
  }).observe({ type: "longtask", buffered: true });
  let last = performance.now();
  const next = (now) => {
    globalThis.mainThread.frames += 1;
    globalThis.mainThread.droppedFrames += Math.max(0, Math.round((now - last) / (1000 / 60)) - 1);
    last = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
`;

/** What was noted since the last call. */
export async function takeMainThread(page: Page): Promise<MainThread> {
  return page.evaluate<MainThread>(`(() => {
    const found = globalThis.mainThread;
    globalThis.mainThread = { longTasks: [], frames: 0, droppedFrames: 0 };
    return found;
  })()`);
}

interface PageMemory {
  /** Of JavaScript after a collection, in bytes. */
  readonly heapBytes: number;
  readonly elements: number;
}

/** What a page holds after its garbage was collected. */
export async function memoryOf(page: Page): Promise<PageMemory> {
  const session: CDPSession = await page.context().newCDPSession(page);
  try {
    await session.send("HeapProfiler.collectGarbage");
    await session.send("Performance.enable");
    const { metrics } = await session.send("Performance.getMetrics");
    const heapBytes = metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? Number.NaN;
    const elements = await page.evaluate<number>("document.querySelectorAll('*').length");
    return { heapBytes, elements };
  } finally {
    await session.detach();
  }
}
