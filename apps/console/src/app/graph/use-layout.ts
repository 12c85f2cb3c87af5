import { use, useEffect, useState } from "react";
import type { Graph } from "../../graph/graph.ts";
import type { GraphLayout } from "../../graph/layout-graph.ts";
// vite makes a file of its own of it, and this its address.
// oxlint-disable-next-line import/default
import workerUrl from "./layout-worker.ts?worker&url";
import { WorkerUrls } from "./worker-urls.ts";

/** A graph with its layout, which belong together. */
interface LaidOut {
  readonly graph: Graph;
  readonly layout: GraphLayout;
}

/** The layout of a graph, made by a worker; the former one until it is there. */
export function useLayout(graph: Graph): LaidOut | undefined {
  const trusted = use(WorkerUrls);
  const [laidOut, setLaidOut] = useState<LaidOut>();
  useEffect(() => {
    const worker = new Worker(trusted(new URL(workerUrl, location.origin)), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<GraphLayout>) => {
      setLaidOut({ graph, layout: data });
      worker.terminate();
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
    worker.postMessage(graph);
    return () => worker.terminate();
  }, [graph, trusted]);
  return laidOut;
}
