import { use, useEffect, useRef, useState } from "react";
import type { Graph } from "../../graph/graph.ts";
import type { LaidOut } from "../../graph/keep-layout.ts";
import type { GraphLayout } from "../../graph/layout-graph.ts";
import { LayoutQueue } from "./layout-queue.ts";
// vite makes a file of its own of it, and this its address.
// oxlint-disable-next-line import/default
import workerUrl from "./layout-worker.ts?worker&url";
import { WorkerUrls } from "./worker-urls.ts";

/**
 * The layout of a graph, made by a worker; the former one until it is there. What stays of a graph keeps its place in the same
 * `picture`.
 */
export function useLayout(graph: Graph, picture: string): LaidOut | undefined {
  const trusted = use(WorkerUrls);
  const [laidOut, setLaidOut] = useState<LaidOut>();
  const queue = useRef<LayoutQueue>(undefined);
  useEffect(() => {
    const worker = new Worker(trusted(new URL(workerUrl, location.origin)), { type: "module" });
    const own = new LayoutQueue(
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
      (request) => worker.postMessage(request),
      setLaidOut,
    );
    worker.addEventListener("message", ({ data }: MessageEvent<GraphLayout>) => own.answer(data));
    queue.current = own;
    return () => worker.terminate();
  }, [trusted]);
  useEffect(() => queue.current?.ask(graph, picture), [graph, picture]);
  return laidOut;
}
