import { use, useEffect, useRef, useState } from "react";
import type { Graph } from "../../graph/graph.ts";
import type { LaidOut } from "../../graph/keep-layout.ts";
import type { GraphLayout } from "../../graph/layout-graph.ts";
import type { LayoutRequest } from "./layout-worker.ts";
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
  const seen = useRef<LaidOut & { readonly picture: string }>(undefined);
  useEffect(() => {
    const worker = new Worker(trusted(new URL(workerUrl, location.origin)), { type: "module" });
    worker.addEventListener("message", ({ data: layout }: MessageEvent<GraphLayout>) => {
      seen.current = { graph, layout, picture };
      setLaidOut({ graph, layout });
      worker.terminate();
    });
    const former = seen.current?.picture === picture ? seen.current : undefined;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
    worker.postMessage({ graph, former } satisfies LayoutRequest);
    return () => worker.terminate();
  }, [graph, picture, trusted]);
  return laidOut;
}
