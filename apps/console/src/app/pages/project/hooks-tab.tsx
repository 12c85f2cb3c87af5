import { usePath } from "../../parts/use-address.ts";
import { DriftHooks } from "../hooks/drift-hooks.tsx";
import { Hooks } from "../hooks/hooks.tsx";

/** The commands that the runs of all stacks of a project execute, and the webhooks that ask for checks of them. */
export function HooksTab() {
  const { project = "" } = usePath<"project">();
  return (
    <>
      <Hooks owner={{ project }} />
      <DriftHooks project={project} />
    </>
  );
}
