export type { Diff } from "./model/diff.ts";
export type {
  ChangeView,
  DriftView,
  GroupEntry,
  OutputView,
  PlanView,
  RiskClass,
} from "./model/plan-view.ts";
export type { Shown } from "./model/shown.ts";
export {
  countsText,
  foldText,
  hasOutputChange,
  headText,
  reasonTexts,
  signOf,
} from "./render/change-head.ts";
export type { DiffLine, LineOptions, LineSign } from "./render/diff-lines.ts";
export { bodyLines, namedLines } from "./render/diff-lines.ts";
export type { Listed } from "./render/plan-notes.ts";
export {
  driftText,
  isEmpty,
  moveTexts,
  noChangesText,
  partialText,
  shownDrift,
  stageTexts,
  warningTexts,
} from "./render/plan-notes.ts";
export { leafText, visibleText } from "./render/value-text.ts";
