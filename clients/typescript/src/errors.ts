/** What goes wrong between an app and its service. */
import type { Problem } from "./types.js";

/** The service refused: `code` is a word of the contract, `hint` says what to do. */
export class ServiceError extends Error {
  override readonly name: string = "ServiceError";

  constructor(
    readonly status: number,
    readonly code: string,
    /** What is wrong, without the hint. */
    readonly problem: string,
    readonly hint: string,
  ) {
    super(hint ? `${problem}; ${hint}` : problem);
  }
}

/** The service could not be reached, however often it was tried. */
export class Unreachable extends ServiceError {
  override readonly name = "Unreachable";

  constructor(message: string, hint = "check that the service runs and that its address is right") {
    super(503, "unreachable", message, hint);
  }
}

/** A refusal from a reply: what the service says of it, or what can be said of a stranger's answer. */
export function refusal(status: number, text: string): ServiceError {
  const problem = read(text);
  if (problem) return new ServiceError(status, problem.code, problem.message, problem.hint);
  return new ServiceError(status, "not_smidgen", `the reply (${status}) is not one of a smidgen service`, "check the address");
}

function read(text: string): Problem | undefined {
  try {
    const found = (JSON.parse(text) as { error?: Partial<Problem> }).error;
    return found?.code && found.message ? { code: found.code, message: found.message, hint: found.hint ?? "" } : undefined;
  } catch {
    return undefined;
  }
}
