import { existsSync } from "node:fs";
import { type Graph, graphOf, keepLayout, layoutGraph } from "@stackwright/console/graph";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { chromium, type Page } from "playwright-core";
import { printFigures, quantile } from "./figures.ts";
import { startServer } from "./processes.ts";

const NODES = 10_000;
/** As many as a picture may have at most: what is seen as a whole is the modules. */
const MODULES = 790;
/** What users are to have: the picture, and each frame while they move it. */
const LAYOUT_MS = 1_000;
const FRAME_MS = 33;
/** Moves of the picture that are measured. */
const MOVES = 120;
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

interface Resource {
  readonly address: string;
  readonly type: string;
  readonly phase: string;
  readonly depends_on: readonly string[];
}

/** Resources of many modules, each of which needs one or two of those before it, most of them in its own module. */
function resources(): readonly Resource[] {
  const addressOf = (at: number): string => `module.m${at % MODULES}.terraform_data.r${at}`;
  return Array.from({ length: NODES }, (_, at) => ({
    address: addressOf(at),
    type: "terraform_data",
    phase: "ready",
    depends_on:
      at < MODULES
        ? []
        : [at - MODULES, ...(at % 2 === 0 ? [(at * 7) % (at - 50)] : [])].map(addressOf),
  }));
}

function graphOfResources(all: readonly Resource[]): Graph {
  const nodes = all.map(({ address, phase }) => ({
    id: address,
    label: address,
    module: address.split(".terraform_data")[0] ?? "",
    state: phase,
  }));
  const edges = all.flatMap(({ address, depends_on: needs }) =>
    needs.map((needed) => [address, needed] as const),
  );
  return graphOf(nodes, edges);
}

/** A graph of 10,000 nodes: how long its layout takes, and how long a frame while the page of the console moves the picture. */
export async function benchGraph(rounds: number): Promise<void> {
  const all = resources();
  benchLayout(graphOfResources(all), rounds);
  await benchFrames(all);
}

function benchLayout(graph: Graph, rounds: number): void {
  const layout = layoutGraph(graph);
  const changed = { ...graph, nodes: [...graph.nodes, { id: "new", label: "new", module: "" }] };
  const subjects: Readonly<Record<string, () => unknown>> = {
    "from nothing": () => layoutGraph(graph),
    "after a change": () => keepLayout(changed, { graph, layout }),
    "JSON of the graph": () => JSON.parse(JSON.stringify(graph)),
  };
  const times = new Map<string, number[]>();
  // The first is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, work] of Object.entries(subjects)) {
      const before = performance.now();
      work();
      if (round > 0) times.set(name, [...(times.get(name) ?? []), performance.now() - before]);
    }
  }
  const baseline = spreadOf("JSON of the graph", times.get("JSON of the graph") ?? []);
  for (const name of ["from nothing", "after a change"]) {
    recordFigure({
      name: `console: layout of a graph, ${name}`,
      unit: "ms",
      size: NODES,
      of: "nodes",
      ours: spreadOf("layout", times.get(name) ?? []),
      baseline,
    });
  }
  printFigures(`layout of ${NODES} nodes and ${graph.edges.length} edges, ${rounds} rounds`, [
    ["layout", "p50 ms", "most ms", "goal ms"],
    ...[...times].map(([name, found]) => [
      name,
      quantile(found, 0.5).toFixed(0),
      Math.max(...found).toFixed(0),
      name.startsWith("JSON") ? "" : `${LAYOUT_MS}`,
    ]),
  ]);
}

async function benchFrames(all: readonly Resource[]): Promise<void> {
  const executablePath = BROWSERS.find((path) => existsSync(path));
  if (executablePath === undefined) {
    console.log("\nframes: skipped, there is no Chromium on this machine");
    return;
  }
  await using server = await startServer("sqlite", "none");
  const { url, token } = server;
  await fetch(`${url}/api/v1/projects/default/stacks`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "one" }),
  });
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await page.goto(`${url}/console/`);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    // The server would need minutes to make them.
    await page.route(/\/stacks\/one\/state$/, async (route) =>
      route.fulfill({ json: { revision: 1, resources: all, outputs: [] } }),
    );
    const begun = performance.now();
    await page.goto(`${url}/console/p/default/s/one/graph`);
    await page.getByText(/\d+ nodes, \d+ dependencies/).waitFor();
    const shownMs = performance.now() - begun;
    const size = await page.getByText(/\d+ nodes, \d+ dependencies/).innerText();
    const empty = await framesOf(page, false);
    const before = await transformOf(page);
    const moved = await framesOf(page, true);
    if ((await transformOf(page)) === before) throw new Error("the picture was not moved");
    printFigures(
      `a picture of ${NODES} resources seen as a whole (${size}), without a graphics card`,
      [
        ["page", "frame p50 ms", "p99 ms", `over ${FRAME_MS} ms`],
        ["at rest", ...cells(empty)],
        ["moved", ...cells(moved)],
      ],
    );
    console.log(`\nthe picture is there after ${shownMs.toFixed(0)} ms`);
    recordFigure({
      name: "console: a frame while a graph is moved",
      unit: "ms",
      size: NODES,
      of: "resources",
      ours: spreadOf("moved", [quantile(moved, 0.5)]),
      baseline: spreadOf("at rest", [quantile(empty, 0.5)]),
    });
  } finally {
    await browser.close();
  }
}

function cells(frames: readonly number[]): readonly string[] {
  const late = frames.filter((one) => one > FRAME_MS).length;
  return [
    quantile(frames, 0.5).toFixed(1),
    quantile(frames, 0.99).toFixed(1),
    `${late} of ${frames.length}`,
  ];
}

async function transformOf(page: Page): Promise<string | null> {
  return page.locator(".graph-picture svg > g").getAttribute("transform");
}

/** The times between frames while the picture is moved by a key in each of them, or is at rest. */
async function framesOf(page: Page, isMoved: boolean): Promise<readonly number[]> {
  return page.evaluate<number[]>(`new Promise((resolve) => {
    const picture = document.querySelector(".graph-picture");
    const times = [];
    let last = performance.now();
    const next = (now) => {
      times.push(now - last);
      last = now;
      if (times.length > ${MOVES}) return resolve(times.slice(1));
      const key = times.length % 2 === 0 ? "ArrowLeft" : "ArrowUp";
      if (${isMoved}) picture.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  })`);
}
