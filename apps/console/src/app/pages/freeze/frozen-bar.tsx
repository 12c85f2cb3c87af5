import { Link } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { frozenName, frozenPlaces } from "../../parts/active-freeze.ts";
import { Mark } from "../../parts/mark.tsx";
import { useNow } from "../../parts/time.tsx";
import { useServer } from "../../session/server-context.tsx";

/** On every page, while anything that the reader may see is frozen: what, by whom and why. */
export function FrozenBar() {
  const { stacks: store } = useServer();
  const { stacks } = useSyncExternalStore(store.subscribe, store.snapshot);
  const [first, ...more] = frozenPlaces(stacks, useNow());
  if (first === undefined) return null;
  const { actor, reason } = first.freeze;
  return (
    <p className="frozen-bar" role="status">
      <Mark shape="diamond" />
      <span>
        <strong>Frozen: {frozenName(first)}</strong> by {actor}: {reason}
        {more.length > 0 && `, and ${more.length} more`}
      </span>
      <Link to="/frozen">What is frozen</Link>
    </p>
  );
}
