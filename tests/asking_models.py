"""Models that answer as they like, without a network: an `ask` is a function of requests."""

from models.llm.records import Answer, LlmFailure


class Asked:
    """Answers with `reply`: a text, a result, or a function of the last turn and the number of the request."""

    def __init__(self, reply):
        self.reply, self.requests, self.n_calls = reply, [], 0

    def __call__(self, requests):
        self.n_calls += 1
        results = []
        for request in requests:
            reply = self.reply
            if callable(reply):
                reply = reply(request.messages[-1].content, len(self.requests))
            self.requests.append(request)
            results.append(reply if isinstance(reply, Answer | LlmFailure) else Answer(reply))
        return results
