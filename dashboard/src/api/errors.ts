/** An error answer of the gateway: `{error: {message, code, param, type}}`. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly type: string;
  readonly param: string | null;
  readonly requestId: string | null;

  constructor(status: number, body: unknown, requestId: string | null) {
    const error = errorObject(body);
    super(error.message ?? `The gateway answered ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.code = error.code ?? "unknown";
    this.type = error.type ?? "unknown";
    this.param = error.param ?? null;
    this.requestId = requestId;
  }

  /** The object was changed since it was read. */
  get conflict() {
    return this.status === 412 || this.status === 409;
  }

  /** The feature is off or not part of this edition; the message names the setting. */
  get unavailable() {
    return this.code === "feature_unavailable" || this.status === 503;
  }

  get forbidden() {
    return this.status === 403;
  }
}

type ErrorFields = { message?: string; code?: string | null; type?: string; param?: string | null };

function errorObject(body: unknown): ErrorFields {
  if (body && typeof body === "object" && "error" in body && body.error && typeof body.error === "object") return body.error as ErrorFields;
  return {};
}

/** The text of any thrown value, for a person. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  if (error instanceof TypeError) return "The gateway cannot be reached. Check that it runs and that this page was loaded from it.";
  return error instanceof Error ? error.message : String(error);
}
