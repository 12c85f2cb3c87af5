import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import type { Graph } from "../../graph/graph.ts";
import {
  fittingLevel,
  type GraphLevel,
  groupGraph,
  groupName,
  idAt,
  MAX_NODES,
} from "../../graph/group-graph.ts";
import { signOf, statesText, stateText } from "../../graph/node-state.ts";
import { useFilters } from "../parts/use-address.ts";
import { FindNode } from "./find-node.tsx";
import { GraphView } from "./graph-view.tsx";

/** Members of a closed group that are named because they are not as they should be. */
const MAX_NAMED = 20;
/** Between the groups that an address says are open: no name has it. */
const SEPARATOR = "\n";

interface GroupedGraphProps {
  readonly whole: Graph;
  /** The coarsest first, with what a user calls the nodes of each. */
  readonly levels: readonly (readonly [GraphLevel, string])[];
  /** Nodes up to which the finest level is shown at first. @default as many as a picture may have */
  readonly few?: number;
  readonly label: string;
  /** What groups consist of: one, and several. */
  readonly members: readonly [one: string, many: string];
  /** What is shown beside a chosen node that is no group. */
  readonly detail: (id: string) => ReactNode;
}

/** Filters and choices of the address. */
interface GraphAddress {
  readonly show: GraphLevel;
  readonly open: string;
  readonly node: string;
}

/** A graph that is grouped so that it can be read. Groups open and close; what is found or chosen opens its group. */
export function GroupedGraph({
  whole,
  levels,
  few = MAX_NODES,
  label,
  members: [one, many],
  detail,
}: GroupedGraphProps) {
  const navigate = useNavigate();
  const address = useFilters<GraphAddress>();
  const names = useMemo(() => levels.map(([name]) => name), [levels]);
  const fitting = useMemo(() => fittingLevel(whole, few, names.toReversed()), [whole, few, names]);
  const level = names.find((name) => name === address.show) ?? fitting;
  const chosen = address.node;
  const graphOfOpen = useMemo(() => {
    const open = new Set((address.open ?? "").split(SEPARATOR).filter((name) => name !== ""));
    return withChosen(whole, level, open, chosen);
  }, [whole, level, address.open, chosen]);
  const { graph, open } = graphOfOpen;
  const tooLarge = useMemo(
    () => new Set(names.filter((name) => groupGraph(whole, name).nodes.length > MAX_NODES)),
    [whole, names],
  );
  const groups = useMemo(() => membersByGroup(whole, level), [whole, level]);
  const write = (
    next: {
      readonly [Name in keyof GraphAddress]?: GraphAddress[Name] | undefined;
    },
  ): void =>
    void navigate({
      to: ".",
      // Without a value a name is not in the address.
      search: (all: object) => ({ ...all, ...next }),
      replace: true,
      resetScroll: false,
    });
  const textOf = (names: ReadonlySet<string>): string | undefined =>
    names.size === 0 ? undefined : [...names].join(SEPARATOR);
  const choose = (id: string | undefined): void =>
    // What is open for what was chosen before stays open.
    write({ node: id, open: textOf(withChosen(whole, level, open, id).open) });
  const groupOf = (id: string): string | undefined => {
    if (groups.has(id)) return id;
    const node = whole.nodes.find((found) => found.id === id || idAt(found, level) === id);
    return node && groupName(node, level);
  };
  const room = MAX_NODES - graph.nodes.length;
  const toggle = (id: string): void => {
    const group = groupOf(id);
    if (group === undefined) return;
    const next = new Set(open);
    if (next.delete(group)) write({ node: group, open: textOf(next) });
    else if (hasRoom(groups.get(group), room))
      write({ node: group, open: textOf(next.add(group)) });
  };
  const groupControl = useMemo(
    () => ({
      membersOf: (id: string): ReadonlySet<string> =>
        (open.has(id) ? groups.get(id) : undefined) ?? new Set(),
    }),
    [open, groups],
  );
  return (
    <>
      <div className="filters">
        <label>
          Show{" "}
          <select
            value={level}
            onChange={(event) => {
              const show = event.target.value as GraphLevel;
              write({ show: show === fitting ? undefined : show, open: undefined });
            }}
          >
            {levels.map(([name, text]) => (
              <option key={name} value={name} disabled={name !== level && tooLarge.has(name)}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <FindNode nodes={whole.nodes} what={many} choose={(id) => choose(idAt({ id }, level))} />
        {open.size > 0 && (
          <button type="button" onClick={() => write({ open: undefined, node: undefined })}>
            Close all
          </button>
        )}
      </div>
      <GraphView
        graph={graph}
        label={label}
        picture={level}
        chosen={chosen}
        choose={choose}
        groups={{ ...groupControl, toggle }}
        detail={(id) => {
          const group = groupOf(id);
          const count = groups.get(group ?? "")?.size ?? 0;
          const isOpen = group !== undefined && open.has(group);
          const canOpen = isOpen || hasRoom(groups.get(group ?? ""), room);
          return (
            <>
              {group === id && <Held whole={whole} level={level} group={id} choose={choose} />}
              {group !== undefined && !canOpen && group === id && (
                <p className="quiet">
                  The picture has no room for {count} {many}: one that is found is shown beside its
                  group.
                </p>
              )}
              {group !== id && detail(id)}
              {group !== undefined && (group === id || isOpen) && (
                <p className="actions">
                  <button type="button" disabled={!canOpen} onClick={() => toggle(id)}>
                    {isOpen ? `Close ${group}` : `Open its ${count} ${count === 1 ? one : many}`}
                  </button>
                </p>
              )}
            </>
          );
        }}
      />
    </>
  );
}

/**
 * The graph with its open groups, among them that of what is chosen. Where the picture has no room for the members of that group, what is
 * chosen is shown beside it.
 */
function withChosen(
  whole: Graph,
  level: GraphLevel,
  open: ReadonlySet<string>,
  chosen: string | undefined,
): { readonly graph: Graph; readonly open: ReadonlySet<string> } {
  const graph = groupGraph(whole, level, open);
  if (chosen === undefined || graph.nodes.some(({ id }) => id === chosen)) return { graph, open };
  const node = whole.nodes.find((one) => idAt(one, level) === chosen);
  const group = node && groupName(node, level);
  if (group === undefined || open.has(group)) return { graph, open };
  const opened = groupGraph(whole, level, new Set([...open, group]));
  if (opened.nodes.length <= MAX_NODES) return { graph: opened, open: new Set([...open, group]) };
  const beside = new Set([...open, chosen]);
  return { graph: groupGraph(whole, level, beside), open: beside };
}

/** What each group of a level holds, as the picture names it. */
function membersByGroup(
  { nodes }: Graph,
  level: GraphLevel,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const node of nodes) {
    const group = groupName(node, level);
    if (group === undefined) continue;
    const known = found.get(group) ?? new Set();
    found.set(group, known.add(idAt(node, level)));
  }
  return found;
}

/** Whether the members of a group find a place where the group was. */
function hasRoom(members: ReadonlySet<string> | undefined, room: number): boolean {
  return members !== undefined && members.size - 1 <= room;
}

interface HeldProps {
  readonly whole: Graph;
  readonly level: GraphLevel;
  readonly group: string;
  readonly choose: (id: string) => void;
}

/** What a group holds: how many in which state, and by name those that are not as they should be. */
function Held({ whole, level, group, choose }: HeldProps) {
  const held = whole.nodes.filter((node) => groupName(node, level) === group);
  const states: Record<string, number> = {};
  for (const { state } of held) {
    if (state !== undefined) states[state] = (states[state] ?? 0) + 1;
  }
  const named = held.filter(({ state }) => signOf(state) !== "");
  return (
    <>
      <p>{statesText(states)}</p>
      {named.length > 0 && (
        <ul className="plain-list" aria-label="Not as they should be">
          {named.slice(0, MAX_NAMED).map((node) => (
            <li key={node.id}>
              <button type="button" className="link" onClick={() => choose(idAt(node, level))}>
                {node.label}
              </button>
              <span className="quiet">{stateText(node.state ?? "")}</span>
            </li>
          ))}
          {named.length > MAX_NAMED && (
            <li className="quiet">and {named.length - MAX_NAMED} more</li>
          )}
        </ul>
      )}
    </>
  );
}
