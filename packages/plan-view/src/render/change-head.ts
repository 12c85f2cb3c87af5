import type { ChangeView, GroupEntry, PlanCounts, PlanView } from "../model/plan-view.ts";
import { visibleText } from "./value-text.ts";

/** The sign of a change, in the signs of Terraform. */
export function signOf({ action, order }: ChangeView): string {
  switch (action) {
    case "create":
      return "+";
    case "read":
      return "<=";
    case "update":
      return "~";
    case "delete":
      return "-";
    case "replace":
      return order === "create-first" ? "+/-" : "-/+";
    case "forget":
      return ".";
    case "no-op":
    default:
      return " ";
  }
}

const HEADS: Readonly<Record<ChangeView["action"], string>> = {
  "no-op": "is unchanged",
  create: "will be created",
  read: "will be read during apply",
  update: "will be updated in place",
  delete: "will be destroyed",
  replace: "must be replaced",
  forget: "will no longer be managed, but will not be destroyed",
};

/** What a change is about and what happens to it, on one line. */
export function headText(change: ChangeView): string {
  const { address, deposed, previousAddress, importing, action } = change;
  const subject = deposed === undefined ? address : `${address} (deposed object ${deposed})`;
  if (action === "no-op" && previousAddress !== undefined) {
    return visibleText(`${previousAddress} has moved to ${address}`);
  }
  if (action === "no-op" && importing !== undefined) {
    return visibleText(`${subject} will be imported`);
  }
  return visibleText(`${subject} ${HEADS[action]}`);
}

/** Sentences that say why, each without its full stop. */
export function reasonTexts(change: ChangeView): string[] {
  const { previousAddress, importing, action, reason, causes, risk, provisioners = [] } = change;
  return [
    ...(previousAddress !== undefined && action !== "no-op"
      ? [`moved from ${previousAddress}`]
      : []),
    ...(importing === undefined ? [] : [`imported from "${importing.id}"`]),
    ...(reason === undefined ? [] : [reason]),
    ...causes
      .filter(({ replaces }) => replaces || action === "update")
      .map(
        ({ path, replaces, chain }) =>
          `${path} ${replaces ? "forces replacement" : "changes"} because of ${chain.join(", because of ")}`,
      ),
    ...provisioners.map(({ when, type, onFailure, summary }) => {
      const time = when === "create" ? "after it is created" : "before it is destroyed";
      const what = summary === undefined ? "" : `: ${summary}`;
      const tolerant = onFailure === "continue" ? ", failures are ignored" : "";
      return `provisioner ${type} runs ${time}${tolerant}${what}`;
    }),
    ...(risk.score >= 70 ? risk.reasons.map((text) => `risk: ${text}`) : []),
  ].map(visibleText);
}

/** `aws_instance.worker[*]: 48 alike`, for an entry that is folded. */
export function foldText(view: PlanView, { changes, varies }: GroupEntry): string {
  const addresses = changes.map((position) => view.changes[position]?.address ?? "");
  const [first = "", last = ""] = [addresses[0], addresses.at(-1)];
  const differing = varies.length === 0 ? "" : `; they differ in ${varies.slice(0, 5).join(", ")}`;
  return visibleText(`${changes.length} alike, ${first} to ${last}${differing}`);
}

/** `1 to add, 0 to change, 2 to destroy` */
export function countsText(summary: Omit<PlanCounts, "read">): string {
  const rare = (count: number, what: string): string[] =>
    count > 0 ? [`${count} to ${what}`] : [];
  return [
    ...rare(summary.import, "import"),
    `${summary.create + summary.replace} to add`,
    `${summary.update} to change`,
    `${summary.delete + summary.replace} to destroy`,
    ...rare(summary.move, "move"),
    ...rare(summary.forget, "forget"),
  ].join(", ");
}

/** Whether anything of a difference would be shown. */
export function hasOutputChange({ body }: PlanView["outputs"][number]): boolean {
  if (body.kind === "same") return false;
  return !((body.kind === "add" || body.kind === "remove") && body.value.kind === "null");
}
