import { useDeferredValue, useState } from "react";
import type { GraphNode } from "../../graph/graph.ts";

/** Matches that are offered: more are told apart by typing more. */
const MAX_OFFERED = 8;

interface FindNodeProps {
  readonly nodes: readonly GraphNode[];
  /** What the nodes are, such as `stacks`. */
  readonly what: string;
  readonly choose: (id: string) => void;
}

/** Finds a node by a part of its name, also in a group that is closed. Enter takes the first one. */
export function FindNode({ nodes, what, choose }: FindNodeProps) {
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text).trim().toLowerCase();
  const found =
    wanted === "" ? [] : nodes.filter(({ label }) => label.toLowerCase().includes(wanted));
  const take = (id: string): void => {
    setText("");
    choose(id);
  };
  return (
    <search className="find-node">
      <input
        type="search"
        aria-label={`Find one of the ${what}`}
        placeholder={`Find one of ${nodes.length} ${what}`}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          const [first] = found;
          if (event.key === "Enter" && first !== undefined) take(first.id);
        }}
      />
      {wanted !== "" && (
        <div className="found card">
          <p className="quiet" role="status">
            {found.length === 0
              ? `None of the ${what} matches`
              : `${found.length} of ${nodes.length} ${what}`}
          </p>
          <ul className="plain-list">
            {found.slice(0, MAX_OFFERED).map(({ id, label }) => (
              <li key={id}>
                <button type="button" className="link" onClick={() => take(id)}>
                  {label}
                </button>
              </li>
            ))}
          </ul>
        </div>
      )}
    </search>
  );
}
