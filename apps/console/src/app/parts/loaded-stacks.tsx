import type { StackStatus } from "@stackwright/client";
import { type ReactNode, useSyncExternalStore } from "react";
import { useServer } from "../session/server-context.tsx";
import { Loading, ProblemBox } from "./states.tsx";

interface LoadedStacksProps {
  readonly children: (stacks: readonly StackStatus[]) => ReactNode;
}

/** What a page says of all stacks. Before they are here, it says nothing of them: a list that is not read yet is not an empty one. */
export function LoadedStacks({ children }: LoadedStacksProps) {
  const { stacks: store, followAgain } = useServer();
  const { stacks, isLoaded, error } = useSyncExternalStore(store.subscribe, store.snapshot);
  const problem = error !== undefined && <ProblemBox error={error} retry={followAgain} />;
  if (!isLoaded) return problem || <Loading what="stacks" again={followAgain} />;
  return (
    <>
      {problem}
      {children(stacks)}
    </>
  );
}
