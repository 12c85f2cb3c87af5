import type { Value } from "@stackwright/cty";
import type { EvaluationScope } from "@stackwright/lang";
import { evaluateBody } from "@stackwright/lang";
import type { Redactor } from "../secrets/redactor.ts";
import { type BoundProvisioner, bindProvisioners, type Provisioning } from "./bind-provisioners.ts";

/** A provisioner that runs with a planned change. It is a step of the plan: what is not planned does not run. */
export interface PlannedProvisioner {
  readonly when: "create" | "destroy";
  /** Its place among the provisioners of the block. */
  readonly index: number;
  readonly type: string;
  readonly onFailure: "fail" | "continue";
  /** What it does, for display: the command, or where a file is copied to. Absent where that is unknown or secret. */
  readonly summary?: string;
}

const LONGEST_SUMMARY = 100;

/** The steps of the provisioners that run at a time of the life of an object. */
export function plannedProvisioners(
  provisioning: Provisioning,
  when: PlannedProvisioner["when"],
  { scope, secrets }: { readonly scope: EvaluationScope; readonly secrets: Redactor },
): readonly PlannedProvisioner[] {
  const { provisioners } = bindProvisioners(provisioning);
  return provisioners.flatMap((bound, index): PlannedProvisioner[] => {
    const { config } = bound;
    if (config.when !== when) return [];
    const text = summaryOf(bound, evaluateBody(bound.body, scope, EVERYWHERE).value);
    // A value without a mark may repeat a secret. What is cut would no longer be found.
    const isSecret = text !== undefined && secrets.redact(text) !== text;
    const summary = text === undefined || isSecret ? undefined : shortened(text);
    const { type, onFailure } = config;
    return [{ when, index, type, onFailure, ...(summary !== undefined && { summary }) }];
  });
}

/** Nothing of a provisioner is stored, so that ephemeral values may be used in all of it. */
export const EVERYWHERE = { ephemeral: "everywhere" } as const;

function summaryOf({ config: { type } }: BoundProvisioner, value: Value): string | undefined {
  if (value.containsMarks || value.isNull || !value.isKnown) return undefined;
  const parts = new Map(value.entries());
  const text = (name: string): string | undefined => {
    const part = parts.get(name);
    return part?.isKnown === true && !part.isNull ? part.asString() : undefined;
  };
  if (type === "local-exec") return text("command");
  if (type === "file") {
    const destination = text("destination");
    return destination === undefined ? undefined : `to ${destination}`;
  }
  const script = text("script");
  if (script !== undefined) return script;
  for (const name of ["inline", "scripts"]) {
    const list = parts.get(name);
    if (list?.isWhollyKnown !== true || list.isNull) continue;
    const lines = list.elements();
    if (lines.some((line) => line.isNull)) continue;
    return lines.map((line) => line.asString()).join("; ");
  }
  return undefined;
}

function shortened(text: string): string {
  const [line = "", more] = text.trim().split("\n");
  const cut = line.length > LONGEST_SUMMARY ? line.slice(0, LONGEST_SUMMARY) : line;
  return cut.length < line.length || more !== undefined ? `${cut}...` : cut;
}
