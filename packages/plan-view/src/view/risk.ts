import type { Risk, RiskClass } from "../model/plan-view.ts";
import { attributeRisks } from "./attribute-risks.ts";
import type { GivenChange } from "./given-plan.ts";
import { holdsData, protectionLost } from "./type-risks.ts";

/** A project's own judgement of types: the first rule that fits a type and an action decides the score. */
export interface RiskRule {
  readonly types: RegExp;
  readonly actions?: readonly string[];
  /** 0 to 100. */
  readonly score: number;
  readonly reason: string;
}

/** What decides about risk. */
export interface RiskOptions {
  /** Rules of the project; they come before the built-in ones and replace them. */
  readonly rules?: readonly RiskRule[];
  /** Whether a provider declares that objects of a type hold data; undefined where it says nothing. */
  readonly stateful?: (type: string) => boolean | undefined;
}

const IDENTITY_NETWORK =
  /(?:iam|role|policy|user|group|permission|security|firewall|vpc|subnet|route|gateway|network|dns|record|zone|lb|listener|peering|vpn)/;

/** The risk of a change: the highest score of the rules that apply, with the reasons of that score. */
export function riskOf(change: GivenChange, { rules = [], stateful }: RiskOptions = {}): Risk {
  const { type, action } = change;
  const own = rules.find(
    ({ types, actions }) => types.test(type) && (actions?.includes(action) ?? true),
  );
  if (own !== undefined) return { score: own.score, reasons: [own.reason] };
  const found: (readonly [score: number, reason: string])[] = [[baseScore(change), ""]];
  if (change.mode === "managed") {
    const data = holdsData(type, stateful?.(type));
    if (data !== undefined && (action === "delete" || action === "replace")) {
      const first = action === "replace" && change.order === "create-first";
      const what =
        action === "delete"
          ? "is destroyed"
          : first
            ? "is replaced"
            : "is destroyed and created again";
      found.push([first ? 90 : 100, `an object that holds data ${what}${data}`]);
    }
    if (IDENTITY_NETWORK.test(type)) {
      if (action === "delete" || action === "replace") {
        found.push([70, "identity, network or DNS is destroyed or replaced"]);
      } else if (action === "update") found.push([30, "identity or network changes"]);
    }
    if (action === "delete") found.push(...protectionLost(type));
    found.push(...attributeRisks(change));
  }
  const score = Math.max(...found.map(([value]) => value));
  const reasons = found.filter(([value, reason]) => value === score && reason !== "");
  return { score, reasons: [...new Set(reasons.map(([, reason]) => reason))] };
}

function baseScore({ action, importing }: GivenChange): number {
  switch (action) {
    case "delete":
    case "replace":
      return 50;
    case "forget":
      return 30;
    case "update":
      return 10;
    case "create":
      return importing === undefined ? 5 : 10;
    case "read":
    case "no-op":
    default:
      return importing === undefined ? 0 : 10;
  }
}

/** The class that a score belongs to. */
export function riskClass(score: number): RiskClass {
  if (score >= 90) return "data-loss";
  if (score >= 70) return "high";
  if (score >= 50) return "destructive";
  return score >= 30 ? "notable" : "ordinary";
}
