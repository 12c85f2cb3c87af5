import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Graph, GraphNode } from "../../graph/graph.ts";
import { edgePath, type GraphLayout, NODE_HEIGHT, nodeText } from "../../graph/layout-graph.ts";
import { signOf, statesText, stateText, TONES, toneOf } from "../../graph/node-state.ts";
import { Loading } from "../parts/states.tsx";
import {
  type Direction,
  fittedView,
  nextNode,
  type Size,
  type View,
  viewWith,
} from "./places-in-picture.ts";
import { useLayout } from "./use-layout.ts";

interface GraphViewProps {
  readonly graph: Graph;
  readonly label: string;
  readonly chosen: string | undefined;
  /** What is chosen is brought into view. */
  readonly choose: (id: string | undefined) => void;
  /** What is shown beside a chosen node. */
  readonly detail: (id: string) => ReactNode;
  /** In the same picture what stays of a graph keeps its place; another one is seen as a whole at first. */
  readonly picture?: string;
  readonly groups?: GraphGroups;
}

/** Groups whose nodes are shown in their place. */
interface GraphGroups {
  /** The nodes of an open group; empty for what is none. */
  readonly membersOf: (id: string) => ReadonlySet<string>;
  /** Opens or closes the group that a node is, or is in. */
  readonly toggle: (id: string) => void;
}

const STEP = 60;
const NO_MEMBERS: ReadonlySet<string> = new Set();

/** A graph that can be moved and enlarged. The outline below has the same for those who do not see the picture. */
export function GraphView({
  graph,
  label,
  chosen,
  choose,
  detail,
  picture = "",
  groups,
}: GraphViewProps) {
  const laidOut = useLayout(graph, picture);
  const members = useMemo(
    () => (chosen === undefined ? NO_MEMBERS : (groups?.membersOf(chosen) ?? NO_MEMBERS)),
    [groups, chosen],
  );
  const isThere =
    chosen !== undefined && (members.size > 0 || graph.nodes.some(({ id }) => id === chosen));
  return (
    <>
      {laidOut === undefined ? (
        <Loading what="graph" />
      ) : (
        <Picture
          key={picture}
          {...laidOut}
          label={label}
          chosen={chosen}
          members={members}
          choose={choose}
          toggle={groups?.toggle}
        />
      )}
      {isThere && (
        <section className="card" aria-label={chosen}>
          <h2>{chosen}</h2>
          <Neighbors graph={graph} id={chosen} choose={choose} />
          {detail(chosen)}
        </section>
      )}
      <Outline graph={graph} choose={choose} />
    </>
  );
}

interface PictureProps {
  readonly graph: Graph;
  readonly layout: GraphLayout;
  readonly label: string;
  readonly chosen: string | undefined;
  /** The nodes of the chosen group, where it is open. */
  readonly members: ReadonlySet<string>;
  readonly choose: (id: string | undefined) => void;
  readonly toggle: ((id: string) => void) | undefined;
}

function Picture({ graph, layout, label, chosen, members, choose, toggle }: PictureProps) {
  const element = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState<View>();
  const { width, height } = useSize(element);
  const drag = useRef<{ readonly x: number; readonly y: number; readonly view: View }>(undefined);
  // Without a view of the user's own the picture is fitted, also after the window changed its size.
  const fit = (): void => setMoved(undefined);
  const view = moved ?? fittedView(layout, { width, height });
  const clicked = useRef<string>(undefined);
  useChoiceInView({ graph, layout, chosen, members, clicked, view, width, height, setMoved });
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
  const walk = (direction: Direction): void => {
    const from = graph.nodes.findIndex(({ id }) => id === chosen || members.has(id));
    const next = graph.nodes[nextNode(graph, layout, from, direction) ?? -1];
    if (next !== undefined) choose(next.id);
  };
  const onKey = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, readonly [x: number, y: number, to: Direction]>> = {
      ArrowLeft: [STEP, 0, "left"],
      ArrowRight: [-STEP, 0, "right"],
      ArrowUp: [0, STEP, "up"],
      ArrowDown: [0, -STEP, "down"],
    };
    const move = moves[event.key];
    if (move !== undefined && event.shiftKey) walk(move[2]);
    else if (move !== undefined) setMoved({ ...view, x: view.x + move[0], y: view.y + move[1] });
    else if (event.key === "+") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "f") fit();
    else if (event.key === "Enter" && chosen !== undefined) toggle?.(chosen);
    else if (event.key === "Escape" && chosen !== undefined) choose(undefined);
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
        <span className="quiet choice" role="status">
          {chosenText(graph, chosen, members)}
        </span>
      </div>
      <div
        ref={element}
        className="graph-picture"
        role="application"
        aria-label={`${label}. Arrow keys move it, plus and minus change its size, arrow keys with Shift choose${toggle === undefined ? "" : ", Enter opens and closes a group"}; the outline below has its content.`}
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
              members={members}
              choose={(id) => {
                clicked.current = id;
                choose(id);
              }}
              isSmall={view.scale < 0.3}
            />
          </g>
        </svg>
      </div>
    </div>
  );
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

interface ViewedChoice extends Size {
  readonly graph: Graph;
  readonly layout: GraphLayout;
  readonly chosen: string | undefined;
  readonly members: ReadonlySet<string>;
  /** What was chosen in the picture itself. */
  readonly clicked: RefObject<string | undefined>;
  readonly view: View;
  readonly setMoved: (view: View) => void;
}

/** Moves the picture to what was chosen elsewhere than in it, once, as soon as it is laid out. */
function useChoiceInView({ graph, layout, chosen, members, clicked, ...rest }: ViewedChoice): void {
  const { view, width, height, setMoved } = rest;
  const seen = useRef<string>(undefined);
  useEffect(() => {
    const choice = chosen === undefined ? undefined : `${members.size > 0} ${chosen}`;
    if (choice === undefined || choice === seen.current) {
      seen.current = choice;
      return;
    }
    const places = graph.nodes.flatMap(({ id }, at) =>
      (members.size > 0 ? members.has(id) : id === chosen) ? [at] : [],
    );
    if (places.length === 0) return;
    seen.current = choice;
    const isClicked = clicked.current === chosen && members.size === 0;
    clicked.current = undefined;
    if (isClicked) return;
    const wanted = viewWith(layout, places, view, { width, height });
    if (wanted !== undefined) setMoved(wanted);
  }, [graph, layout, chosen, members, clicked, view, width, height, setMoved]);
}

/** Says to those who do not see the picture what is chosen in it. */
function chosenText(
  { nodes }: Graph,
  chosen: string | undefined,
  members: ReadonlySet<string>,
): string {
  if (chosen === undefined) return "";
  if (members.size > 0) return `${chosen}: open, ${members.size} nodes`;
  const node = nodes.find(({ id }) => id === chosen);
  return node === undefined ? "" : titleOf(node);
}

/** A node in words: a group with what it holds. */
function titleOf({ id, state, size = 1, states = {} }: GraphNode): string {
  if (size <= 1) return state === undefined ? id : `${id}: ${stateText(state)}`;
  const counts = statesText(states);
  return `${id}, ${size}${counts === "" ? "" : `: ${counts}`}`;
}

interface ContentProps extends Pick<PictureProps, "graph" | "layout" | "chosen" | "members"> {
  readonly choose: (id: string) => void;
  /** Texts could not be read: they are left out. */
  readonly isSmall: boolean;
}

/** Drawn anew where the graph or the choice changes; moving the picture changes one attribute. */
function Content({ graph, layout, chosen, members, choose, isSmall }: ContentProps) {
  // A function that is another one each time is no reason to draw anew.
  const onChoose = useRef(choose);
  onChoose.current = choose;
  return useMemo(() => {
    const place = graph.nodes.findIndex(({ id }) => id === chosen);
    const near = new Set(
      graph.edges.flatMap(([from, to]) => (from === place ? [to] : to === place ? [from] : [])),
    );
    return (
      <>
        {graph.edges.map(([from, to, count = 1]) => (
          <path
            key={`${from} ${to}`}
            className={place >= 0 && (from === place || to === place) ? "edge near" : "edge"}
            strokeWidth={edgeWidth(count)}
            d={edgePath(layout, from, to)}
          />
        ))}
        {graph.nodes.map((node, at) => (
          <g
            key={node.id}
            className={[
              "node",
              toneOf(node.state),
              at === place ? "chosen" : "",
              near.has(at) || members.has(node.id) ? "near" : "",
            ].join(" ")}
            transform={`translate(${layout.x[at] ?? 0} ${layout.y[at] ?? 0})`}
            onClick={() => onChoose.current(node.id)}
          >
            <title>{titleOf(node)}</title>
            {(node.size ?? 1) > 1 && (
              <rect
                className="behind"
                x={4}
                y={4}
                width={layout.widths[at]}
                height={NODE_HEIGHT}
                rx={5}
              />
            )}
            <rect width={layout.widths[at]} height={NODE_HEIGHT} rx={5} />
            <StateBar node={node} width={layout.widths[at] ?? 0} />
            {!isSmall && (
              <text x={10} y={17}>
                {signText(node)}
                {nodeText(node)}
              </text>
            )}
          </g>
        ))}
        {!isSmall &&
          graph.edges.map(
            ([from, to, count = 1]) =>
              count > 1 &&
              (from === place || to === place) && (
                <text key={`${from} ${to}`} className="edge-count" {...middleOf(layout, from, to)}>
                  {count}
                </text>
              ),
          )}
      </>
    );
  }, [graph, layout, chosen, members, isSmall]);
}

/** An edge between groups is as wide as it is many. */
function edgeWidth(count: number): number | undefined {
  return count > 1 ? Math.min(6, 1 + Math.log2(count) / 1.5) : undefined;
}

function middleOf({ x, y, widths }: GraphLayout, from: number, to: number) {
  const right = (x[to] ?? 0) + (widths[to] ?? 0);
  return {
    x: ((x[from] ?? 0) + right) / 2,
    y: ((y[from] ?? 0) + (y[to] ?? 0) + NODE_HEIGHT) / 2 + 4,
  };
}

/** Says the state beside its color; of a group how many are in it. */
function signText({ state, size = 1, states = {} }: GraphNode): string {
  const sign = signOf(state);
  if (sign === "") return "";
  if (size <= 1) return `${sign} `;
  return `${sign}${countsByTone(states)[toneOf(state)] ?? 0} `;
}

function countsByTone(states: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [state, count] of Object.entries(states)) {
    const tone = toneOf(state);
    counts[tone] = (counts[tone] ?? 0) + count;
  }
  return counts;
}

const BAR_HEIGHT = 3;

/** How large the shares of a group are that are not as they should be. */
function StateBar({ node, width }: { readonly node: GraphNode; readonly width: number }) {
  const { size = 1, states = {} } = node;
  const counts = countsByTone(states);
  if (size <= 1 || Object.keys(states).every((state) => signOf(state) === "")) return null;
  let left = 0;
  return TONES.map((tone) => {
    const share = ((counts[tone] ?? 0) / size) * (width - 10);
    left += share;
    return (
      share > 0 && (
        <rect
          key={tone}
          className={`state-bar ${tone}`}
          x={5 + left - share}
          y={NODE_HEIGHT - BAR_HEIGHT - 1}
          width={share}
          height={BAR_HEIGHT}
        />
      )
    );
  });
}

interface NeighborsProps {
  readonly graph: Graph;
  readonly id: string;
  readonly choose: (id: string) => void;
}

function Neighbors({ graph, id, choose }: NeighborsProps) {
  const place = graph.nodes.findIndex((node) => node.id === id);
  const needs = graph.edges.flatMap(([from, to, count = 1]) =>
    from === place ? [{ at: to, count }] : [],
  );
  const neededBy = graph.edges.flatMap(([from, to, count = 1]) =>
    to === place ? [{ at: from, count }] : [],
  );
  const list = (title: string, found: readonly { at: number; count: number }[]): ReactNode =>
    found.length > 0 && (
      <>
        <h3>
          {title} ({found.length})
        </h3>
        <ul className="plain-list">
          {found.slice(0, 50).map(({ at, count }) => (
            <li key={at}>
              <button
                type="button"
                className="link"
                onClick={() => choose(graph.nodes[at]?.id ?? "")}
              >
                {graph.nodes[at]?.label}
              </button>
              {count > 1 && <span className="quiet">{count} dependencies</span>}
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
              {state !== undefined && signOf(state) !== "" && (
                <span className="quiet">{stateText(state)}</span>
              )}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
