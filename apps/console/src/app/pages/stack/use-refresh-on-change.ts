import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { useServer } from "../../session/server-context.tsx";

/** Reads again what a page shows of a stack whenever the stream says that the stack has changed. */
export function useRefreshOnChange(
  { project, stack }: { readonly project: string; readonly stack: string },
  names: readonly string[],
): void {
  const { stacks } = useServer();
  const queries = useQueryClient();
  const all = useSyncExternalStore(stacks.subscribe, stacks.snapshot).stacks;
  const status = all.find((one) => one.project === project && one.name === stack);
  const { current, newest } = status ?? {};
  const holds = `${status?.lock?.reason ?? ""}/${status?.freeze?.at ?? ""}`;
  const mark = `${holds}/${current?.id ?? ""}/${current?.phase ?? ""}/${newest?.id ?? ""}/${newest?.phase ?? ""}/${status?.waiting ?? 0}/${status?.drift?.run ?? ""}/${status?.drift?.changed ?? 0}`;
  const wanted = names.join();
  useEffect(() => {
    for (const name of wanted.split(",")) {
      void queries.invalidateQueries({ queryKey: [name, project, stack] });
    }
  }, [queries, project, stack, mark, wanted]);
}
