%% Calls of a gen_server, for the server's part of the benchmarks.
-module(otp_server).
-behaviour(gen_server).
-export([calls/1, init/1, handle_call/3, handle_cast/2]).

calls(N) ->
    {ok, Server} = gen_server:start(?MODULE, [], []),
    call(Server, N),
    gen_server:stop(Server).

call(_, 0) -> ok;
call(Server, N) -> N = gen_server:call(Server, {echo, N}), call(Server, N - 1).

init([]) -> {ok, []}.
handle_call({echo, Value}, _From, State) -> {reply, Value, State}.
handle_cast(_, State) -> {noreply, State}.
