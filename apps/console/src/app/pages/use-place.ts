import { usePath } from "../parts/use-address.ts";

interface StackPlace {
  readonly project: string;
  readonly stack: string;
}

/** The stack of a page, by its address. */
export function useStackPlace(): StackPlace {
  const { project = "", stack = "" } = usePath<keyof StackPlace>();
  return { project, stack };
}

export function stackPath({ project, stack }: StackPlace): string {
  return `/p/${project}/s/${stack}`;
}

/** The page of plans of several stacks. */
export function planSetPath(project: string, set: string): string {
  return `/p/${project}/plan-sets/${set}`;
}
