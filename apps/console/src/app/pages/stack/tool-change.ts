import type { Operations } from "@stackwright/client";

export type StackTool = Operations["ShowStackTool"]["output"];
type StackToolChange = NonNullable<Operations["SetStackTool"]["input"]["body"]>;

/** What a form about a tool has; empty without a version. */
interface ToolForm {
  readonly tool: StackTool["tool"];
  readonly version: string;
  readonly shadow: boolean;
  readonly adoptAfter: number;
}

/** Whether a tool is a program on a worker, which has a version and may be compared with the engine. */
export function isProgram(tool: StackTool["tool"]): boolean {
  return tool !== "stackwright" && tool !== "commands";
}

/**
 * What a form changes of the tool that it was opened with. What it leaves as it was is not sent: it would take the place of what others have
 * set meanwhile, and hand the state of the stack back.
 */
export function toolChangeOf(before: StackTool, form: ToolForm): StackToolChange {
  const { tool, version, shadow, adoptAfter } = form;
  const isOther = tool !== before.tool;
  if (!isProgram(tool)) return isOther ? { tool } : {};
  if (isOther) return { tool, version, shadow, adopt_after: adoptAfter };
  return {
    ...(version !== (before.version ?? "") && { version }),
    ...(shadow !== before.shadow && { shadow }),
    ...(adoptAfter !== before.adopt_after && { adopt_after: adoptAfter }),
  };
}
