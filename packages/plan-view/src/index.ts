export type {
  ComparedPlanJson,
  ComparedPlans,
  PlanDifference,
} from "./compare/compare-plan-json.ts";
export { comparePlanJson } from "./compare/compare-plan-json.ts";
export { applyValueDiff } from "./diff/apply-value-diff.ts";
export type { PairingOptions } from "./diff/diff-values.ts";
export { diffValues } from "./diff/diff-values.ts";
export type { PairingRule } from "./diff/pairing-rules.ts";
export { INFERRED_KEYS, PAIRING_RULES } from "./diff/pairing-rules.ts";
export type { ShowOptions } from "./diff/show-diff.ts";
export { showDiff, showValue } from "./diff/show-diff.ts";
export { diffLines, textHunks } from "./diff/text-lines.ts";
export type { ItemDiff, MemberDiff, ValueDiff } from "./diff/value-diff.ts";
export type {
  ChangeNote,
  Diff,
  DiffItem,
  DiffMember,
  PairedBy,
  TextHunk,
  TextLine,
} from "./model/diff.ts";
export type {
  CauseView,
  ChangeGroup,
  ChangeView,
  CheckView,
  DeferredView,
  DriftView,
  GroupEntry,
  MoveView,
  OutputView,
  PlanCounts,
  PlanView,
  ProvisionerView,
  Risk,
  RiskClass,
  RootCause,
  ViewAction,
} from "./model/plan-view.ts";
export { PLAN_VIEW_FORMAT } from "./model/plan-view.ts";
export { repeatsName } from "./model/repeats-name.ts";
export type { ObjectView } from "./model/revision-view.ts";
export type { Shown, ShownMember, ShownRefinement } from "./model/shown.ts";
export { VIEW_SCHEMA } from "./model/view-schema.ts";
export type { HtmlOptions } from "./render/html.ts";
export { renderHtml } from "./render/html.ts";
export { renderHtmlPage } from "./render/html-page.ts";
export type { MarkdownOptions } from "./render/markdown.ts";
export { renderMarkdown } from "./render/markdown.ts";
export type { TerminalViewOptions } from "./render/terminal.ts";
export { renderTerminal } from "./render/terminal.ts";
export type {
  GivenCause,
  GivenChange,
  GivenCheck,
  GivenDrift,
  GivenOutput,
  GivenPlan,
  GivenProvisioner,
} from "./view/given-plan.ts";
export type { PlanViewOptions } from "./view/plan-view.ts";
export { planView } from "./view/plan-view.ts";
export type { GivenObject, RevisionViewOptions } from "./view/revision-view.ts";
export { revisionView } from "./view/revision-view.ts";
export type { RiskOptions, RiskRule } from "./view/risk.ts";
