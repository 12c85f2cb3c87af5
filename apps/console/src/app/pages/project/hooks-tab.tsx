import { usePath } from "../../parts/use-address.ts";
import { Hooks } from "../hooks/hooks.tsx";

/** The commands that the runs of all stacks of a project execute. */
export function HooksTab() {
  const { project = "" } = usePath<"project">();
  return <Hooks owner={{ project }} />;
}
