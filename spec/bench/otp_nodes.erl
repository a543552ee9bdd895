%% Two Erlang nodes on this machine, on loopback and without epmd: the programs of nodes.ts. Each prints one line, as those of otp_bench do.
%% erl -start_epmd false -erl_epmd_port PORT: both nodes use this port, each on an address of its own.
-module(otp_nodes).
-export([send/1, calls/2, round_trip/1, round_trip_p99/1, kill/1]).

send(N) -> with_peer(fun(Node) ->
    Counter = spawn(Node, fun() -> counter(0) end),
    otp_bench:rate("node-send", N, fun() -> N = send_all(Counter, N) end) end).

calls(N, Open) -> with_peer(fun(Node) ->
    Echo = spawn(Node, fun echo/0),
    otp_bench:rate("node-calls", N, fun() -> ask_all(Echo, N, Open) end) end).

round_trip(N) -> with_peer(fun(Node) -> #{median := Median} = times(Node, N), print("ns", Median * 1000) end).
round_trip_p99(N) -> with_peer(fun(Node) -> #{p99 := P99} = times(Node, N), print("us", P99) end).

%% From the kill of the node that has a piece of work to the moment in which a process of this one has it.
kill(N) ->
    start(),
    Shell = open_port({spawn, "/bin/sh"}, []),
    Times = [killed(Shell) || _ <- lists:seq(1, N)],
    #{p99 := P99} = summary(Times),
    print("us", P99).

killed(Shell) ->
    {Peer, Node} = peer(),
    Me = self(),
    OsPid = rpc:call(Node, os, getpid, []),
    There = spawn(Node, fun() -> receive Work -> Me ! {taken, Work}, receive never -> ok end end end),
    Here = spawn(fun() -> receive Work -> Me ! {done, Work, now_us()} end end),
    Ref = monitor(process, There),
    There ! work,
    receive {taken, work} -> ok end,
    Start = now_us(),
    port_command(Shell, ["kill -9 ", OsPid, "\n"]),
    receive {'DOWN', Ref, process, There, noconnection} -> Here ! work end,
    End = receive {done, work, At} -> At end,
    catch peer:stop(Peer),
    End - Start.

now_us() -> erlang:monotonic_time(nanosecond) / 1000.

times(Node, N) ->
    Echo = spawn(Node, fun echo/0),
    ask(Echo, N div 5),
    summary([begin Start = now_us(), I = call(Echo, I), now_us() - Start end || I <- lists:seq(1, N)]).

summary(Times) ->
    Sorted = lists:sort(Times),
    At = fun(Share) -> lists:nth(min(length(Sorted), trunc(length(Sorted) * Share) + 1), Sorted) end,
    #{median => At(0.5), p99 => At(0.99)}.

print(Unit, Figure) -> io:format("{\"~s\":~w}~n", [Unit, round(Figure)]).

%% ── windows ──────────────────────────────────────────────────────────────────────────────────────────────────────

%% Eight senders, each of which asks after a thousand messages how many there were.
send_all(Counter, N) ->
    Me = self(),
    Each = N div 8,
    [spawn_link(fun() -> Me ! {arrived, sender(Counter, Each, 0)} end) || _ <- lists:seq(1, 8)],
    lists:sum([receive {arrived, M} -> M end || _ <- lists:seq(1, 8)]).

sender(_, 0, Arrived) -> Arrived;
sender(Counter, Left, Arrived) ->
    Now = min(Left, 1000),
    [Counter ! {order, I, <<"a lamp">>} || I <- lists:seq(1, Now)],
    sender(Counter, Left - Now, Arrived + call(Counter, count)).

ask_all(Echo, N, Open) ->
    Me = self(),
    [spawn_link(fun() -> ask(Echo, N div Open), Me ! done end) || _ <- lists:seq(1, Open)],
    [receive done -> ok end || _ <- lists:seq(1, Open)].

ask(_, 0) -> ok;
ask(Echo, N) -> N = call(Echo, N), ask(Echo, N - 1).

call(To, Question) ->
    Ref = monitor(process, To, [{alias, reply_demonitor}]),
    To ! {call, Ref, Question},
    receive {Ref, Answer} -> Answer; {'DOWN', Ref, _, _, Reason} -> exit(Reason) end.

counter(N) ->
    receive
        {order, _, _} -> counter(N + 1);
        {call, Ref, count} -> Ref ! {Ref, N}, counter(0)
    end.

echo() -> receive {call, Ref, X} -> Ref ! {Ref, X}, echo() end.

%% ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

with_peer(Work) ->
    start(),
    {Peer, Node} = peer(),
    Work(Node),
    peer:stop(Peer).

start() ->
    ok = application:set_env(kernel, inet_dist_use_interface, {127, 0, 0, 1}),
    {ok, _} = net_kernel:start(['bench1@127.0.0.1', longnames]),
    true = erlang:set_cookie(node(), signalbox).

peer() ->
    {ok, [[Port]]} = init:get_argument(erl_epmd_port),
    {ok, Peer, Node} = peer:start(#{
        name => bench2, host => "127.0.0.2", longnames => true, connection => standard_io,
        args => ["-setcookie", "signalbox", "-start_epmd", "false", "-erl_epmd_port", Port,
                 "-kernel", "inet_dist_use_interface", "{127,0,0,2}", "-kernel", "logger_level", "none",
                 "+S", "1:1", "-pa", filename:dirname(code:which(?MODULE))]}),
    pong = net_adm:ping(Node),
    {Peer, Node}.
