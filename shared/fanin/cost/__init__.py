"""What fanin costs: list prices of AWS, what it bills, and bills of counted units."""

from fanin.cost.bill import Bill, Line, Usage
from fanin.cost.meter import UsageMeter
from fanin.cost.prices import PRICES, Price

__all__ = ["PRICES", "Bill", "Line", "Price", "Usage", "UsageMeter"]
