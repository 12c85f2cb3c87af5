import { bodyLines, type Shown } from "@stackwright/plan-view/lines";
import { DiffText } from "../plan/diff-text.tsx";

/** A value as text; what is sensitive is said to be so. */
export function ShownText({ value }: { readonly value: Shown }) {
  const lines = bodyLines({ kind: "add", value }).map((line) => ({ ...line, sign: " " as const }));
  return <DiffText lines={lines} />;
}
