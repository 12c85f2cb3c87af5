type Kept = Pick<Storage, "getItem" | "setItem">;

/** Whether a user has hidden the first steps in this browser. */
export function isOnboardingDismissed(storage: Kept, user: string): boolean {
  return storage.getItem(keyOf(user)) !== null;
}

export function dismissOnboarding(storage: Kept, user: string): void {
  storage.setItem(keyOf(user), "hidden");
}

function keyOf(user: string): string {
  return `stackwright.first-steps.${user}`;
}
