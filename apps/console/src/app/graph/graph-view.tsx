import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Graph } from "../../graph/graph.ts";
import { edgePath, type GraphLayout, NODE_HEIGHT, nodeText } from "../../graph/layout-graph.ts";
import { Loading } from "../parts/states.tsx";
import { useLayout } from "./use-layout.ts";

interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

interface GraphViewProps {
  readonly graph: Graph;
  readonly label: string;
  /** What is shown beside a chosen node. */
  readonly detail: (id: string) => ReactNode;
  /** In the same picture what stays of a graph keeps its place; another one is seen as a whole at first. */
  readonly picture?: string;
}

const STEP = 60;

/** A graph that can be moved and enlarged. The outline below has the same for those who do not see the picture. */
export function GraphView({ graph, label, detail, picture = "" }: GraphViewProps) {
  const laidOut = useLayout(graph, picture);
  const [chosen, setChosen] = useState<string>();
  const isThere = chosen !== undefined && graph.nodes.some(({ id }) => id === chosen);
  return (
    <>
      {laidOut === undefined ? (
        <Loading what="graph" />
      ) : (
        <Picture key={picture} {...laidOut} label={label} chosen={chosen} choose={setChosen} />
      )}
      {isThere && (
        <section className="card" aria-label={chosen}>
          <h2>{chosen}</h2>
          <Neighbors graph={graph} id={chosen} choose={setChosen} />
          {detail(chosen)}
        </section>
      )}
      <Outline graph={graph} choose={setChosen} />
    </>
  );
}

interface PictureProps {
  readonly graph: Graph;
  readonly layout: GraphLayout;
  readonly label: string;
  readonly chosen: string | undefined;
  readonly choose: (id: string) => void;
}

function Picture({ graph, layout, label, chosen, choose }: PictureProps) {
  const element = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState<View>();
  const { width, height } = useSize(element);
  const drag = useRef<{ readonly x: number; readonly y: number; readonly view: View }>(undefined);
  // Without a view of the user's own the picture is fitted, also after the window changed its size.
  const fit = (): void => setMoved(undefined);
  const view = moved ?? fittedView(layout, { width, height });
  const zoom = (factor: number, at?: { readonly x: number; readonly y: number }): void => {
    const point = at ?? { x: width / 2, y: height / 2 };
    const scale = Math.max(0.02, Math.min(3, view.scale * factor));
    const ratio = scale / view.scale;
    setMoved({
      scale,
      x: point.x - (point.x - view.x) * ratio,
      y: point.y - (point.y - view.y) * ratio,
    });
  };
  const onKey = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [STEP, 0],
      ArrowRight: [-STEP, 0],
      ArrowUp: [0, STEP],
      ArrowDown: [0, -STEP],
    };
    const move = moves[event.key];
    if (move !== undefined) setMoved({ ...view, x: view.x + move[0], y: view.y + move[1] });
    else if (event.key === "+") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "f") fit();
    else return;
    event.preventDefault();
  };
  const onPointerMove = (event: PointerEvent): void => {
    const { current } = drag;
    if (current === undefined) return;
    setMoved({
      ...current.view,
      x: current.view.x + event.clientX - current.x,
      y: current.view.y + event.clientY - current.y,
    });
  };
  return (
    <div className="graph">
      <div className="graph-tools">
        <button type="button" aria-label="Enlarge" onClick={() => zoom(1.3)}>
          +
        </button>
        <button type="button" aria-label="Reduce" onClick={() => zoom(1 / 1.3)}>
          −
        </button>
        <button type="button" onClick={fit}>
          Fit
        </button>
        <span className="quiet">
          {graph.nodes.length} nodes, {graph.edges.length} dependencies
        </span>
      </div>
      <div
        ref={element}
        className="graph-picture"
        role="application"
        aria-label={`${label}. Arrow keys move it, plus and minus change its size; the outline below has its content.`}
        tabIndex={0}
        onKeyDown={onKey}
        onWheel={(event) => {
          if (
            !event.ctrlKey &&
            !event.metaKey &&
            event.deltaMode === 0 &&
            Math.abs(event.deltaX) > Math.abs(event.deltaY)
          )
            return;
          const { left, top } = event.currentTarget.getBoundingClientRect();
          zoom(Math.exp(-event.deltaY / 400), { x: event.clientX - left, y: event.clientY - top });
        }}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, y: event.clientY, view };
        }}
        onPointerMove={onPointerMove}
        onPointerUp={() => {
          drag.current = undefined;
        }}
        onPointerLeave={() => {
          drag.current = undefined;
        }}
      >
        <svg width="100%" height="100%" aria-hidden="true" focusable="false">
          <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
            <Content
              graph={graph}
              layout={layout}
              chosen={chosen}
              choose={choose}
              isSmall={view.scale < 0.3}
            />
          </g>
        </svg>
      </div>
    </div>
  );
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The whole picture in the middle of the space there is. */
function fittedView(layout: GraphLayout, { width, height }: Size): View {
  const scale = Math.min(1.2, width / layout.width, height / layout.height);
  return {
    scale,
    x: (width - layout.width * scale) / 2,
    y: (height - layout.height * scale) / 2,
  };
}

/** The size of an element from the moment on that it is on the page. */
function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 900, height: 500 });
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = current;
      // One that is not shown has no size to fit into.
      if (width === 0 || height === 0) return;
      setSize((former) =>
        former.width === width && former.height === height ? former : { width, height },
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

interface ContentProps extends Omit<PictureProps, "label"> {
  /** Texts could not be read: they are left out. */
  readonly isSmall: boolean;
}

/** Drawn anew where the graph or the choice changes; moving the picture changes one attribute. */
function Content({ graph, layout, chosen, choose, isSmall }: ContentProps) {
  return useMemo(() => {
    const place = graph.nodes.findIndex(({ id }) => id === chosen);
    const near = new Set(
      graph.edges.flatMap(([from, to]) => (from === place ? [to] : to === place ? [from] : [])),
    );
    return (
      <>
        {graph.edges.map(([from, to]) => (
          <path
            key={`${from} ${to}`}
            className={place >= 0 && (from === place || to === place) ? "edge near" : "edge"}
            d={edgePath(layout, from, to)}
          />
        ))}
        {graph.nodes.map((node, at) => (
          <g
            key={node.id}
            className={`node ${node.state ?? ""} ${at === place ? "chosen" : ""} ${near.has(at) ? "near" : ""}`}
            transform={`translate(${layout.x[at] ?? 0} ${layout.y[at] ?? 0})`}
            onClick={() => choose(node.id)}
          >
            <title>
              {node.state === undefined
                ? node.id
                : `${node.id}: ${node.state.replaceAll("_", " ")}`}
            </title>
            <rect width={layout.widths[at]} height={NODE_HEIGHT} rx={5} />
            {!isSmall && (
              <text x={10} y={17}>
                {signOf(node.state)}
                {nodeText(node)}
              </text>
            )}
          </g>
        ))}
      </>
    );
  }, [graph, layout, chosen, choose, isSmall]);
}

/** Says the state beside its color. */
function signOf(state: string | undefined): string {
  if (state === undefined || state === "ready" || state === "good") return "";
  return state === "bad" || state === "tainted" || state === "unresolved"
    ? "✕ "
    : state === "attention"
      ? "▲ "
      : "◌ ";
}

interface NeighborsProps {
  readonly graph: Graph;
  readonly id: string;
  readonly choose: (id: string) => void;
}

function Neighbors({ graph, id, choose }: NeighborsProps) {
  const place = graph.nodes.findIndex((node) => node.id === id);
  const needs = graph.edges.filter(([from]) => from === place).map(([, to]) => to);
  const neededBy = graph.edges.filter(([, to]) => to === place).map(([from]) => from);
  const list = (title: string, places: readonly number[]): ReactNode =>
    places.length > 0 && (
      <>
        <h3>
          {title} ({places.length})
        </h3>
        <ul className="plain-list">
          {places.slice(0, 50).map((at) => (
            <li key={at}>
              <button
                type="button"
                className="link"
                onClick={() => choose(graph.nodes[at]?.id ?? "")}
              >
                {graph.nodes[at]?.label}
              </button>
            </li>
          ))}
        </ul>
      </>
    );
  return (
    <>
      {list("Depends on", needs)}
      {list("Needed by", neededBy)}
    </>
  );
}

/** The content of the picture as a list. */
function Outline({
  graph,
  choose,
}: {
  readonly graph: Graph;
  readonly choose: (id: string) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Outline</summary>
      {isOpen && (
        <ul className="plain-list">
          {graph.nodes.slice(0, 1000).map(({ id, label, size = 1, state }) => (
            <li key={id}>
              <button type="button" className="link" onClick={() => choose(id)}>
                {label}
              </button>
              {size > 1 && <span className="quiet">{size}</span>}
              {state !== undefined && state !== "ready" && <span className="quiet">{state}</span>}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
