/** The response to one buyer, and its duration. */
export interface Answer {
  readonly outcome: 'bought' | 'refused' | 'error';
  readonly ms: number;
  /** Which of the processes it came from. */
  readonly seller?: number;
  /** Undefined when there was no response. */
  readonly status?: number;
  /** For an error: its description. */
  readonly reason?: string;
}

interface Crowd {
  readonly buyers: number;
  readonly urls: readonly string[];
  readonly eventId: string;
  readonly signal: AbortSignal;
  onAnswer(answered: number): void;
}

/** All buyers at once, spread evenly over the processes; ends with the response to the last one. */
export async function sendCrowd({ buyers, urls, eventId, signal, onAnswer }: Crowd): Promise<Answer[]> {
  let answered = 0;
  return Promise.all(
    Array.from({ length: buyers }, async (_, index) => {
      const seller = index % urls.length;
      const answer = await buy(`${urls[seller]}/events/${eventId}/tickets`, `buyer ${index + 1}`, signal);
      onAnswer(++answered);
      return { ...answer, seller };
    }),
  );
}

export async function buy(url: string, buyer: string, signal: AbortSignal): Promise<Answer> {
  const start = performance.now();
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-buyer': buyer },
      body: JSON.stringify({ buyer }),
      signal,
    });
    const body = await response.text();
    const ms = performance.now() - start;
    const { status } = response;
    if (status === 201) return { outcome: 'bought', ms, status };
    if (status === 410) return { outcome: 'refused', ms, status };
    return { outcome: 'error', ms, status, reason: `${status} ${body.slice(0, 200)}` };
  } catch (error) {
    signal.throwIfAborted();
    const { message, cause } = error as Error;
    return {
      outcome: 'error',
      ms: performance.now() - start,
      reason: cause instanceof Error ? `${message}: ${cause.message}` : message,
    };
  }
}
